import { type Html, html, trusted } from './html.ts';

/** What a page of the receiver is made of. */
export interface Sheet {
  readonly title: string;
  readonly style: string;
  /** Further elements of the head. */
  readonly head?: Html;
  readonly header: Html;
  readonly content: Html;
  readonly script?: string;
}

/** One document without a foreign asset, for any width, that no search engine lists. */
export function documentOf({ title, style, head, header, content, script }: Sheet): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Trunkline</title>
<link rel="icon" href="data:,">
<style>${trusted(style)}</style>
${head}
</head>
<body>
${header}
<main>
${content}
</main>
${script !== undefined && html`<script>${trusted(script)}</script>`}
</body>
</html>
`.markup;
}
