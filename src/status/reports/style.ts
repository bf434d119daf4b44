import { palette } from '../page/style.ts';

/** The one style sheet of the reports, inline: no asset to load. Its hash stands in the content security policy. */
export const style = `
${palette}
:root { --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
@media (prefers-color-scheme: dark) { :root { --second: #587891; --fair: #a98546; --worse: #8f84b0; } }
* { box-sizing: border-box; margin: 0; }
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; color: var(--ink); background: var(--paper);
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; overflow-wrap: anywhere; }
.top, main { max-width: 1120px; margin: 0 auto; padding: 0 24px; }
.top, .head, .card header { display: flex; align-items: baseline; justify-content: space-between; gap: 8px 24px; flex-wrap: wrap; }
.top { padding-top: 28px; }
nav { display: flex; gap: 20px; }
a { color: var(--soft); text-decoration: none; border-radius: 4px; }
a:hover, a:focus-visible { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; }
a:focus-visible, summary:focus-visible, .table:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
a[aria-current] { color: var(--ink); }
h1 { font-size: clamp(21px, 3.4vw, 29px); line-height: 1.28; font-weight: 600; letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 13px; font-weight: 600; color: var(--soft); }
h3 { font-size: 12px; font-weight: 400; color: var(--soft); margin-bottom: 12px; }
.head { padding: 40px 0 26px; align-items: center; }
.periods { gap: 2px; padding: 3px; background: var(--track); border-radius: 9px; font-size: 13px; }
.periods a { padding: 4px 13px; border-radius: 6px; }
.periods a:hover { text-decoration: none; }
.periods a[aria-current] { background: var(--card); box-shadow: 0 1px 2px rgb(0 0 0 / .09); }
.pictures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px 16px; margin-bottom: 12px; min-width: 0; }
#volume, #cost { grid-column: 1 / -1; }
#volume, #cost { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 32px; }
#volume > *, #cost > * { grid-column: 1 / -1; } #volume > figure, #cost > figure { grid-column: auto; }
.csv { font-size: 12px; letter-spacing: .03em; }
.sentence { font-size: 18px; line-height: 1.38; font-weight: 600; letter-spacing: -.01em; margin: 6px 0 18px; text-wrap: pretty; }
.empty, .unknown { margin-top: 8px; color: var(--soft); } .unknown { color: var(--warning); }
.chart { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: 10px; }
.chart svg { display: block; width: 100%; height: 168px; overflow: visible; }
.rise, .run { list-style: none; padding: 0; font-size: 11px; line-height: 12px; color: var(--soft); display: flex; justify-content: space-between; white-space: nowrap; }
.rise { flex-direction: column; text-align: right; margin: -6px 0; }
.run { grid-column: 2; margin-top: 8px; }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.main { fill: var(--accent); stroke: var(--accent); } .second { fill: var(--second); stroke: var(--second); }
.good { fill: var(--ok); stroke: var(--ok); } .fair { fill: var(--fair); stroke: var(--fair); }
.plain { fill: var(--quiet); stroke: var(--quiet); } .bad { fill: var(--problem); stroke: var(--problem); } .worse { fill: var(--worse); stroke: var(--worse); }
rect.main, rect.second, rect.good, rect.fair, rect.plain, rect.bad, rect.worse { stroke: none; }
.today { opacity: .5; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.line.dashed { stroke-width: 1.5; stroke-dasharray: 2 4; } .line.dot { stroke-width: 7; }
.span { fill: var(--second); opacity: .22; }
.day { fill: transparent; } .day:hover { fill: var(--ink); opacity: .06; }
.key { display: flex; flex-wrap: wrap; gap: 2px 16px; margin-top: 12px; font-size: 12.5px; color: var(--soft); }
.key span { display: inline-flex; align-items: center; gap: 7px; } .key b { font-weight: 400; }
.key i { width: 9px; height: 9px; border-radius: 2px; background: currentColor; }
.key .stroke i { height: 0; width: 14px; border-top: 2px solid currentColor; background: none; border-radius: 0; } .key .dashed i { border-top-style: dotted; }
.key .main i { color: var(--accent); } .key .second i { color: var(--second); } .key .good i { color: var(--ok); } .key .fair i { color: var(--fair); }
.key .plain i { color: var(--quiet); } .key .bad i { color: var(--problem); } .key .worse i { color: var(--worse); }
.note { font-size: 13px; color: var(--soft); margin-top: 12px; text-wrap: pretty; }
details { margin-top: 10px; font-size: 13px; } summary { color: var(--soft); cursor: pointer; width: fit-content; border-radius: 4px; } summary:hover { color: var(--ink); }
.table { max-height: 320px; overflow: auto; margin-top: 8px; overflow-wrap: normal; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
td, th { padding: 5px 0 5px 14px; text-align: left; font-weight: 400; vertical-align: bottom; border-top: 1px solid var(--line); }
tr > :first-child { padding-left: 0; white-space: nowrap; }
thead th { color: var(--soft); font-size: 12px; line-height: 1.3; border-top: 0; position: sticky; top: 0; background: var(--card); }
.number { text-align: right; } td.number { white-space: nowrap; }
code { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
footer { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 16px 0 40px; font-size: 13px; color: var(--soft); }
@media (max-width: 820px) { .pictures { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 620px) { #volume > figure, #cost > figure { grid-column: 1 / -1; } figure + figure { margin-top: 20px; } }
@media screen and (min-width: 821px) { .card:not(#volume, #cost) { display: grid; grid-template-rows: subgrid; grid-row: span 5; align-content: start; } }
@media (max-width: 520px) {
  .top, main { padding-left: 16px; padding-right: 16px; } .head { padding: 26px 0 18px; } .card { padding: 15px 15px 14px; margin-bottom: 8px; } .sentence { font-size: 17px; } .chart svg { height: 148px; } .periods { width: 100%; } .periods a { flex: 1; text-align: center; padding: 6px 0; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #111; --soft: #555; --line: #ddd; --track: #eee; --ok: #2c8a5a; --problem: #bd3b2f;
    --quiet: #b9b5ab; --accent: #33658f; --second: #9db8cf; --fair: #d9b36c; --worse: #8b7fa8; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; } .top, main { max-width: none; padding: 0; } nav, .csv, details { display: none; }
  .head { padding: 10px 0 12px; } .pictures { display: block; columns: 2; column-gap: 10px; } #volume, #cost { column-span: all; } #cost { margin-top: 10px; }
  .card { break-inside: avoid; margin-bottom: 10px; padding: 12px 14px; } .sentence { font-size: 12pt; margin-bottom: 10px; } .note { font-size: 8.5pt; margin-top: 8px; }
  .chart svg { height: 110px; } footer { padding: 6px 0 0; font-size: 8.5pt; }
}
`;
