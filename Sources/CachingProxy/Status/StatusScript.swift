enum StatusScript {
  /// Replaces `main` by that of a new page every three seconds, as long as the page is visible and
  /// the user has not stopped it. Unfolded parts stay unfolded. It creates no markup itself.
  static let text: HTML = """

    (() => {
      const live = document.getElementById("live");
      const select = () => String(getSelection()) !== "";
      const turn = async () => {
        if (document.hidden || select() || live.getAttribute("aria-pressed") !== "true") return;
        let lost = false;
        try {
          const answer = await fetch(location.pathname, { cache: "no-store" });
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          const next = page.querySelector("main");
          if (!answer.ok || !next) throw new Error("no page");
          const main = document.querySelector("main");
          for (const open of main.querySelectorAll("details[open]")) {
            const same = next.querySelector("#" + open.id);
            if (same) same.open = true;
          }
          const summary = document.activeElement.localName === "summary";
          main.replaceWith(document.adoptNode(next));
          if (summary) document.querySelector("summary")?.focus();
          document.title = page.title;
        } catch {
          lost = true;
        }
        document.body.classList.toggle("lost", lost);
      };
      live.hidden = false;
      live.addEventListener("click", () => {
        live.setAttribute("aria-pressed", live.getAttribute("aria-pressed") !== "true");
        turn();
      });
      setInterval(turn, 3000);
    })();

    """
}
