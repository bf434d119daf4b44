import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { documentOf, html, readAssets } from './html.ts';

const style = readAssets('plain-page.css');

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Answers with a page of one sentence and, with `hasLink`, a link to the status page. It shows nothing about the
 * account.
 */
export function sendPlainPage(reply: FastifyReply, sentence: string, hasLink = false): FastifyReply {
  return reply
    .headers({
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    .type('text/html; charset=utf-8')
    .send(
      documentOf({
        title: sentence,
        style,
        content: html`<p>${sentence}</p>${hasLink && html`<p><a href="/">Status</a></p>`}`,
      }),
    );
}

/** Whether a person reads the answer: browsers ask for HTML explicitly, programs don't. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') ?? false;
}
