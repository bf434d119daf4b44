/** The style sheet of the pages, inline; its hash stands in their content security policy. */
export const style = `
:root { color-scheme: light dark; --paper: light-dark(#f3f4f6, #121417); --card: light-dark(#fff, #1a1d22);
  --ink: light-dark(#1b1f24, #e8eaed); --soft: light-dark(#5b6472, #9aa4b2); --line: light-dark(#d5dae1, #343a44);
  --accent: light-dark(#0b5fc0, #7db4ff); --on-accent: light-dark(#fff, #0c1420); --grave: light-dark(#a3420a, #f0a36a) }
* { box-sizing: border-box; margin: 0 }
body { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; background: var(--paper); color: var(--ink);
  -webkit-text-size-adjust: 100%; overflow-wrap: anywhere }
main { max-width: 33rem; margin: 6vh auto; padding: 2rem 2.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem }
h1 { font-size: 1.4rem; line-height: 1.3; font-weight: 500; letter-spacing: -.01em; margin-bottom: .35rem; text-wrap: balance }
p + p { margin-top: .6rem }
.soft, small { color: var(--soft) }
.small, small { font-size: .875rem }
.host { color: var(--ink) }
.notice { margin-top: 1rem; padding: .6rem .9rem; border-left: 3px solid var(--grave); background: var(--paper) }
form { margin-top: 1.5rem }
label[for], legend { display: block; font-weight: 600; margin-bottom: .35rem; padding: 0 }
select { width: 100%; min-height: 2.75rem; padding: .4rem .6rem; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: .45rem }
select + p { margin-top: .35rem }
fieldset { border: 0; padding: 0; margin: 1.5rem 0 .9rem; min-width: 0 }
.scope { display: grid; grid-template-columns: auto 1fr; gap: .75rem; padding: .6rem 0; border-top: 1px solid var(--line);
  cursor: pointer }
.scope input { width: 1.15rem; height: 1.15rem; margin: .18rem 0 0; accent-color: var(--accent) }
.scope small { display: block }
code { font: .8125rem/1.4 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; white-space: nowrap }
.scope .grave { color: var(--grave); font-weight: 600 }
.decision { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1.5rem }
button { min-height: 2.9rem; font: inherit; font-weight: 600; color: var(--ink); background: none;
  border: 1px solid var(--line); border-radius: .45rem; cursor: pointer }
button.main { color: var(--on-accent); background: var(--accent); border-color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
@media (max-width: 560px) {
  body { background: var(--card) }
  main { margin: 0; padding: 1.5rem 1.15rem 2rem; border: 0; border-radius: 0 }
}
`;
