// Sets the chosen theme before anything is painted. A file of its own, since no inline script may run.
(function () {
  try {
    var theme = localStorage.getItem("turnlog.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (error) {
    // Without storage the system decides.
  }
})();
