import { SHARED } from "@/lib/routes";

interface PictureProps {
  readonly href: string;
  readonly alt: string;
}

/** A picture of the conversation. Nobody can take secrets out of one, so a link shows none. */
export function Picture({ href, alt }: PictureProps) {
  if (SHARED) return <p className="meta">An image, which links do not show.</p>;
  return <img className="shot" src={href} alt={alt} loading="lazy" decoding="async" />;
}
