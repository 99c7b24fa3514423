enum StatusStyle {
  /// Returns the beginning of a document, up to the style; the caller closes the head.
  ///
  /// - Parameters:
  ///   - title: The title.
  ///   - nonce: The number that allows the style in a browser (Content Security Policy).
  static func head(title: String, nonce: String) -> HTML {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <meta name="color-scheme" content="light dark"/>
    <meta name="robots" content="noindex"/>
    <title>\(title)</title>
    <link rel="icon" href="data:,"/>
    <style nonce="\(nonce)">\(sheet)</style>
    """
  }

  /// One sheet for light and dark, for a phone of 360 pixels and a wide screen.
  ///
  /// Text has a contrast of at least 4.5 to 1 with its background, shapes of at least 3 to 1.
  static let sheet: HTML = """

    :root {
      --back: #f4f6f5; --card: #fff; --ink: #17201d; --soft: #55625d; --rule: #dfe5e2;
      --hit: #0b7a63; --stale: #b26a00; --revalidated: #2c6cb5; --miss: #84918c;
      --bypass: #8f79b5; --error: #c0352b;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --back: #0f1312; --card: #171d1b; --ink: #e7edea; --soft: #9daba6; --rule: #29312e;
        --hit: #3cc7a4; --stale: #e2a83d; --revalidated: #6cacf0; --miss: #74827c;
        --bypass: #a892d4; --error: #f27767;
      }
    }
    * { box-sizing: border-box; margin: 0; }
    html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
    body {
      background: var(--back); color: var(--ink); max-width: 76rem; margin: 0 auto;
      padding: 1.5rem 1rem 3rem; font: 400 0.9375rem/1.5 system-ui, sans-serif;
      font-variant-numeric: tabular-nums;
    }
    h1 { font-size: 1.125rem; font-weight: 650; letter-spacing: -0.01em; }
    h2 { font-size: 0.9375rem; font-weight: 650; margin-bottom: 0.75rem; }
    a { color: var(--hit); }
    a:focus-visible, button:focus-visible, summary:focus-visible {
      outline: 2px solid var(--hit); outline-offset: 2px;
    }
    code { font: 0.875em ui-monospace, monospace; overflow-wrap: anywhere; }
    header { display: flex; align-items: center; gap: 1rem; min-height: 2rem; }
    #lost { display: none; color: var(--error); font-weight: 600; }
    .lost #lost { display: block; }
    #live {
      margin-left: auto; font: inherit; font-size: 0.8125rem; color: var(--soft);
      background: none; border: 1px solid var(--rule); border-radius: 99px;
      padding: 0.25rem 0.75rem; cursor: pointer;
    }
    #live::before { content: ""; background: var(--miss); }
    #live[aria-pressed=true]::before { background: var(--hit); }
    .mark::before, .state::before, #live::before {
      content: ""; display: inline-block; width: 0.5rem; height: 0.5rem; border-radius: 50%;
      margin-right: 0.5rem; background: var(--tone);
    }
    .lead {
      color: var(--soft); margin: 0.25rem 0 1.5rem; display: flex; flex-wrap: wrap;
      column-gap: 1.25rem;
    }
    .state { color: var(--ink); font-weight: 600; }
    .online { --tone: var(--hit); }
    .offline { --tone: var(--stale); }
    .glance { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; }
    .figure, .card {
      background: var(--card); border: 1px solid var(--rule); border-radius: 0.875rem;
      padding: 1.125rem 1.25rem;
    }
    dt { font-size: 0.8125rem; color: var(--soft); }
    .big {
      font-size: 2.25rem; line-height: 1.25; font-weight: 600; letter-spacing: -0.03em;
      white-space: nowrap;
    }
    .first .big { color: var(--hit); }
    .note { font-size: 0.8125rem; color: var(--soft); }
    .card { margin-top: 1rem; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; column-gap: 1rem; }
    .three { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 2rem; }
    .card .pair, .card .three { gap: 2rem; margin: 1.25rem 0; }
    .pair > *, .three > * { min-width: 0; }
    svg { display: block; width: 100%; }
    .axis {
      display: flex; justify-content: space-between; font-size: 0.8125rem; color: var(--soft);
      margin-bottom: 0.375rem;
    }
    .axis span:last-child { color: var(--ink); }
    .time { margin: 0.375rem 0 0; }
    .time span:last-child { color: var(--soft); }
    .rates { height: 6rem; margin-bottom: 1rem; overflow: visible; }
    .bars { height: 4rem; }
    .grid { stroke: var(--rule); fill: none; vector-effect: non-scaling-stroke; }
    .line { stroke: var(--hit); stroke-width: 2; fill: none; vector-effect: non-scaling-stroke; }
    .area { fill: var(--hit); opacity: 0.12; }
    .reach { fill: transparent; }
    g:hover .reach { fill: var(--rule); }
    .hit { --tone: var(--hit); }
    .stale { --tone: var(--stale); }
    .revalidated { --tone: var(--revalidated); }
    .miss { --tone: var(--miss); }
    .bypass { --tone: var(--bypass); }
    .error { --tone: var(--error); }
    rect { fill: var(--tone, var(--hit)); }
    .shares { height: 0.625rem; border-radius: 99px; background: var(--rule); margin-bottom: 1rem; }
    .level { margin-top: 0.75rem; }
    .mark { white-space: nowrap; }
    table { width: 100%; border-collapse: collapse; font-size: 0.875rem; }
    th, td { text-align: left; font-weight: 400; padding: 0.375rem 0; vertical-align: baseline; }
    th + th, th + td, td + td { padding-left: 1rem; }
    thead th { font-size: 0.8125rem; color: var(--soft); border-bottom: 1px solid var(--rule); }
    tbody tr + tr > * { border-top: 1px solid var(--rule); }
    .number { text-align: right; white-space: nowrap; }
    .counts .meaning { width: 62%; padding-left: 2rem; color: var(--soft); }
    .counts + .note { margin-top: 0.75rem; }
    .facts { color: var(--soft); overflow-wrap: anywhere; }
    .names, .entries { table-layout: fixed; align-self: start; }
    .names th.number, .entries th.number { width: 5.5rem; }
    .names th.number:nth-child(2) { width: 4rem; }
    .sites th.number:nth-child(4) { width: 6rem; }
    .search { display: flex; gap: 0.5rem; }
    .search input {
      flex: 1; max-width: 24rem; font: inherit; color: inherit; background: var(--card);
      border: 1px solid var(--rule); border-radius: 0.5rem; padding: 0.375rem 0.75rem;
    }
    .search button, .sites button {
      font: inherit; font-size: 0.8125rem; color: var(--soft); background: none;
      border: 1px solid var(--rule); border-radius: 99px; padding: 0.25rem 0.75rem; cursor: pointer;
    }
    .cut { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .bar { height: 3px; margin-top: 0.125rem; border-radius: 99px; }
    .url { overflow-wrap: anywhere; }
    .answers { table-layout: fixed; }
    .answers th:first-child { width: 8rem; }
    .answers th.wide { width: 5.5rem; }
    .answers td > span, .answers time { display: block; }
    .answers time, .reason, .narrow { font-size: 0.8125rem; color: var(--soft); }
    .answers time { padding-left: 1rem; }
    .answers b { font-weight: 600; }
    .answers .url {
      display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
      overflow: hidden; word-break: break-all;
    }
    .reason { overflow-wrap: anywhere; }
    .answers .narrow { display: none; }
    .cutshort { color: var(--error); }
    details { margin-top: 0.75rem; }
    details thead { display: none; }
    summary { cursor: pointer; color: var(--hit); font-size: 0.875rem; }
    .usage p { color: var(--soft); }
    .usage .warning { color: var(--ink); margin-bottom: 0.75rem; }
    pre {
      background: var(--back); border: 1px solid var(--rule); border-radius: 0.5rem;
      padding: 0.625rem 0.875rem; margin: 0.5rem 0 1rem; white-space: pre-wrap;
    }
    footer { margin-top: 1.5rem; font-size: 0.8125rem; color: var(--soft); }
    @media (max-width: 60rem) {
      .glance { grid-template-columns: 1fr 1fr; }
      .pair, .three { grid-template-columns: 1fr; }
    }
    @media (max-width: 40rem) {
      body { padding: 1rem 0.75rem 2rem; }
      .glance { gap: 0.75rem; }
      .figure, .card { padding: 0.875rem; }
      .card { margin-top: 0.75rem; }
      .big { font-size: 1.625rem; }
      .counts .meaning, .answers .wide { display: none; }
      .answers th:first-child { width: 7.25rem; }
      .answers .narrow { display: block; }
    }

    """
}
