import type { Database } from '../../db/database.ts';
import { findDelivery, type StoredDelivery } from '../../inbox/stored-deliveries.ts';
import { countOf, quantity } from '../../ops/format.ts';
import { trace } from '../../ops/trace.ts';
import { commandName } from '../../shared/command-name.ts';
import { maskNumbers, maskTarget } from '../../shared/masking.ts';
import { BadAddress } from '../answering.ts';
import { type Html, html, link } from '../html.ts';
import { areWordsShown, hiddenWords } from '../row-list.ts';
import { ask, asks, facts, items, type RecordPage, section, soft, story } from './page-parts.ts';
import { targetPath, type View } from './view.ts';

const shownTargets = 50;

/** The page of a delivery: what arrived, what it references, and what followed. */
export async function deliveryPage(db: Database, id: string, view: View): Promise<RecordPage> {
  const found = await findDelivery(db, id);
  if (!found) throw new BadAddress(`There is no delivery ${id}: it is older than EVENT_RETENTION_DAYS.`, 404);
  const isTextShown = await areWordsShown(db);
  const led = await trace(db, 'delivery', id);
  const { targets, isErased } = found;
  const links = targets.slice(0, shownTargets).map((target) => link(targetPath(target), maskTarget(target)));
  const more = targets.length - links.length;
  return {
    title: `Delivery ${id}`,
    parts: [
      targets.length > 0 &&
        asks(
          ask({
            label: 'Replay',
            question: `Read again, through the API, what this delivery points at (${countOf(targets.length, 'target')}). Nothing is lost, and rules do not act twice.`,
            answers: [['Replay', `/deliveries/${id}/replay`]],
          }),
        ),
      section(
        'What came',
        facts(view, [
          ['received', found.receivedAt],
          ['event type', found.type ?? 'none in the address'],
          ['type in the body', found.claimedType],
          ['content type', found.contentType ?? 'none'],
          ['sender', found.userAgent ?? 'none'],
          ['recognized', recognition(found)],
          ['body', `${quantity(found.unreadBytes ?? Buffer.byteLength(found.body))} bytes`],
        ]),
      ),
      section(
        'Points at',
        links.length === 0
          ? soft(
              html`Nothing was recognized. <code>${commandName} events reparse</code> parses it again with this release.`,
            )
          : html`${items(links, 'prose')}${more > 0 && soft(`and ${more} more`)}`,
      ),
      section('What it led to', led ? story(led, view) : soft('Nothing yet.')),
      section('Body', body(found, isTextShown)),
      !isTextShown && !isErased && hiddenWords,
    ],
  };
}

function recognition({ isRecognized, targets }: StoredDelivery): string {
  if (isRecognized) return 'yes';
  return targets.length === 0 ? 'no' : 'in part: it has more references than are taken from one delivery';
}

function body({ isErased, body, unreadBytes, contentType }: StoredDelivery, isTextShown: boolean): Html {
  if (isErased) return soft('It mentioned a person who was erased, so its body was removed.');
  if (unreadBytes !== null) {
    return html`<p class="soft">This release does not recognize it. It is kept whole where no page can read it (${quantity(unreadBytes)} bytes), and a later release may read it: <code>${commandName} events reparse</code>.</p>`;
  }
  if (body === '') return soft('It was empty.');
  return html`<pre class="words-of" tabindex="0" role="region" aria-label="Body">${shownBody(body, contentType, isTextShown)}</pre>
<p class="note">Secrets and links were removed before it was stored; numbers are masked here.</p>`;
}

/** Values that identify a row, not a person. They aren't masked. */
const idName =
  /^(?:id|(?:message|event|call|leg|unique|transcript|recording|conversation|user|webhook|subscription)_?id)$/i;
/** Values under these names are words of the service, not of people. */
const codeName = /(?:^|_|[a-z](?=[A-Z]))(?:type|event|status|state|direction|kind)$/i;
const code = /^[\w.:-]{1,40}$/;
const moment = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?(?:Z|[+-]\d\d:?\d\d)?$/;

/**
 * A stored body for a page: JSON and forms line by line, with phone numbers masked. If texts are hidden, every value
 * that a person may have written is replaced by its length.
 */
function shownBody(body: string, contentType: string | null, areWordsShown: boolean): string {
  const tree = parsed(body, contentType);
  if (tree !== undefined) return JSON.stringify(shown(tree, '', areWordsShown), null, 2);
  return areWordsShown ? maskNumbers(body) : hidden(body);
}

function parsed(body: string, contentType: string | null): unknown {
  try {
    return JSON.parse(body);
  } catch {
    if (!/urlencoded/i.test(contentType ?? '')) return undefined;
    return Object.fromEntries(new URLSearchParams(body));
  }
}

function shown(node: unknown, name: string, areWordsShown: boolean): unknown {
  if (Array.isArray(node)) return node.map((each) => shown(each, name, areWordsShown));
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [maskNumbers(key), shown(value, key, areWordsShown)]),
    );
  }
  if (typeof node !== 'string' && typeof node !== 'number') return node;
  const text = String(node);
  if ((idName.test(name) && code.test(text)) || moment.test(text)) return node;
  const masked = maskNumbers(text);
  if (typeof node === 'number') return masked === text ? node : masked;
  const isPlain = !/\p{L}/u.test(text) || (codeName.test(name) && code.test(text));
  return areWordsShown || isPlain ? masked : hidden(text);
}

function hidden(text: string): string {
  return `(${[...text].length} characters, hidden)`;
}
