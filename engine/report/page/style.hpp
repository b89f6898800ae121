#pragma once

#include <string_view>

namespace fa_tune {

// The style sheet of a run's page. Nothing in it is markup: no '<', no '&'.
inline constexpr std::string_view kPageStyle = R"css(
:root {
  --paper: #ffffff; --ink: #1d2327; --soft: #5b656d; --rule: #e3e6e8; --track: #f0f2f3;
  --accent: #1f6fa8; --pale: #9dbfd6; --good: #2a7d52; --bad: #b4472f; --note: #fff6e0; --note-ink: #6b5200;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15191c; --ink: #e4e8ea; --soft: #9aa5ad; --rule: #2b3237; --track: #20262a;
    --accent: #6fb3e0; --pale: #3d6480; --good: #69c294; --bad: #e98a70; --note: #2e2814; --note-ink: #e6cf8b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 760px; margin: 0 auto; padding: 28px 20px 64px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 44px 0 10px; padding-top: 14px; border-top: 1px solid var(--rule); }
h3 { font-size: 15px; margin: 24px 0 6px; }
p { margin: 8px 0; overflow-wrap: anywhere; }
.context, .small { color: var(--soft); }
.kind { font-weight: 600; }
.predicted { background: var(--note); color: var(--note-ink); padding: 8px 12px; border-radius: 6px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 14px 0; }
.cards div { border: 1px solid var(--rule); border-radius: 8px; padding: 10px 12px; }
.cards b { display: block; font-size: 20px; font-weight: 600; }
.cards span { color: var(--soft); font-size: 13px; display: block; line-height: 1.35; }
figure { margin: 16px 0 8px; }
figcaption { color: var(--soft); font-size: 14px; margin-top: 8px; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; }
.narrow { display: none; }
@media (max-width: 640px) {
  main { padding: 20px 16px 48px; }
  .wide { display: none; }
  .narrow { display: block; }
}
svg text { font-size: 12px; fill: var(--ink); }
svg text.tick { fill: var(--soft); font-size: 11px; }
svg text.name { fill: var(--soft); }
svg text.strong { font-weight: 600; }
svg text.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.grid { stroke: var(--rule); }
.axis { stroke: var(--soft); }
.reference { stroke: var(--soft); stroke-dasharray: 4 3; }
.track { fill: var(--track); }
.bar { fill: var(--pale); }
.bar.strong { fill: var(--accent); }
.dots { stroke: var(--pale); stroke-width: 4.5px; stroke-linecap: round; fill: none; }
.best { stroke: var(--accent); stroke-width: 2px; fill: none; stroke-linejoin: round; }
.ceiling { stroke: var(--soft); stroke-width: 1.5px; fill: none; }
.edge { stroke: var(--pale); stroke-width: 1.2px; }
.edge.main { stroke: var(--accent); stroke-width: 2.2px; }
.node { fill: var(--paper); stroke: var(--pale); stroke-width: 1.5px; }
.node.main { fill: var(--accent); stroke: var(--accent); }
.whisker { stroke-width: 2px; stroke: var(--soft); }
.mark { fill: var(--soft); }
.whisker.good { stroke: var(--good); } .mark.good { fill: var(--good); }
.whisker.bad { stroke: var(--bad); } .mark.bad { fill: var(--bad); }
.mark.own { fill: var(--accent); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; margin: 8px 0; }
th, td { text-align: right; padding: 5px 0 5px 14px; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { text-align: left; padding-left: 0; min-width: 240px; }
th, td { white-space: nowrap; }
td:first-child { white-space: normal; }
.facts { display: grid; grid-template-columns: minmax(110px, 190px) 1fr; gap: 4px 16px; margin: 8px 0; font-size: 14px; }
@media (max-width: 640px) { .facts { grid-template-columns: 92px 1fr; gap: 4px 12px; } }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
ol.steps { list-style: none; margin: 12px 0; padding: 0; }
ol.steps li { border-left: 2px solid var(--accent); margin: 0 0 0 5px; padding: 0 0 14px 16px; position: relative; }
ol.steps li:last-child { padding-bottom: 0; }
ol.steps li::before {
  content: ""; position: absolute; left: -6px; top: 6px; width: 10px; height: 10px; border-radius: 50%;
  background: var(--paper); border: 2px solid var(--accent);
}
ol.steps li:last-child::before { background: var(--accent); }
ol.steps b { font-weight: 600; }
ol.steps .gain { float: right; font-weight: 600; margin-left: 10px; }
.gain.good { color: var(--good); } .gain.bad { color: var(--bad); }
details { margin: 10px 0; }
summary { cursor: pointer; color: var(--accent); }
details li { margin: 4px 0; font-size: 14px; overflow-wrap: anywhere; }
code { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
)css";

}  // namespace fa_tune
