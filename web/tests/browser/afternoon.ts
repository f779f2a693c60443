/** Where it is afternoon now: a day that has just begun has little to show. */
export function findAfternoon(now = new Date()): string {
  const zones = ["Pacific/Honolulu", "America/Denver", "America/New_York", "Europe/London", "Asia/Karachi"];
  const away = (zone: string) => {
    const hour = new Intl.DateTimeFormat("en", { hour: "numeric", hourCycle: "h23", timeZone: zone }).format(
      now,
    );
    return Math.abs(Number(hour) - 16);
  };
  return [...zones, "Asia/Tokyo", "Pacific/Auckland"].sort((a, b) => away(a) - away(b))[0] ?? "UTC";
}
