import { plainKey } from '../../json.ts';

/*
 * No list of the service is paged, and when one is, the state of its paging will stand beside `data` (section 8). What
 * stands there and plainly says something else, or that there is no more, leaves an answer whole; all that nobody can tell
 * may mean that there is more.
 */

/** Of the request or of the answer as such. */
const notes = new Set(
  (
    'requestid traceid correlationid transactionid status statuscode success ok code message messages version apiversion ' +
    'timestamp time date generatedat servertime now took duration durationms elapsed elapsedms type object kind ' +
    'warning warnings notice notices deprecation deprecated docs documentation server region environment env ' +
    // Where in a list this is, and how it was asked for, says nothing of what comes behind.
    'self first prev previous page currentpage pageindex pagenumber offset skip sort order filter filters'
  ).split(' '),
);
/** How many rows there are at most: an answer that holds just so many may have been cut there. */
const limits = new Set('limit perpage pagesize'.split(' '));
/** Of a page that is described by more than its number. */
const ofPage: Readonly<Record<string, string>> = { size: 'pagesize', number: 'pagenumber' };
/** What a note can say of the answer itself. */
const saysPartial = /partial|truncated|incomplete/i;
/** True when this is all. */
const ends = new Set('complete iscomplete last islast lastpage islastpage final isfinal done end isend all'.split(' '));
const counts = /^(?:count|size|length|rows|items|results|total.*|.*count|number|numberof.*)$/;
const pages = new Set('pages totalpages pagecount pagestotal lastpage'.split(' '));
const deepest = 4;

/** What the data beside such keys holds. */
interface Beside {
  /** How many rows; undefined where none can be counted. */
  readonly rows: number | undefined;
  /** It is a list itself: of one within it, such as a thread's, the limit is the one that was asked for. */
  readonly isList: boolean;
}

/** Whether a key beside `data` may mean that there is more of it than it holds. */
export function mayMeanMore(key: string, value: unknown, beside: Beside, depth = 0): boolean {
  const { rows, isList } = beside;
  const plain = plainKey(key);
  const isPage = plain === 'page' && typeof value === 'object';
  if (notes.has(plain) && !isPage) return saysPartial.test(JSON.stringify(value) ?? '');
  if (limits.has(plain)) return isList && rows !== 0 && Number(value) === rows;
  if (value === null || value === '') return false;
  if (typeof value === 'boolean') return ends.has(plain) ? !value : value;
  if (typeof value === 'number') {
    if (pages.has(plain)) return value > 1;
    return !(counts.test(plain) && rows !== undefined && value <= rows);
  }
  if (typeof value !== 'object' || depth === deepest) return true;
  const inside = Array.isArray(value) ? value.map((each) => [key, each] as const) : Object.entries(value);
  return inside.some(([name, each]) => mayMeanMore((isPage && ofPage[name]) || name, each, beside, depth + 1));
}
