import { Context, Liquid, type Template as Parsed } from 'liquidjs';
import { declarationOf, declaredFacts, type FactGroup, type Facts, groupsOf } from '../facts/declared.ts';
import { fixturesOf } from '../facts/fixtures.ts';
import { templateFacts } from '../facts/shapes.ts';
import { didYouMean, nearest } from '../file/suggestion.ts';
import type { TriggerKind } from '../triggers.ts';
import type { Fault } from './condition.ts';

/** A text with places for facts. */
export interface Template {
  /** Without spaces around it. Throws where it grows beyond what the engine allows. */
  render(facts: Facts): string;
}

/** The longest text that the service takes, in bytes (section 8). */
const longestBytes = 2_000;

/** Pieces of a template that one text may go through, each turn of a loop anew. */
const mostPieces = 20_000;

/** Tags that read other files, and filters that answer differently each time, have no place in a rule. */
const removedTags = ['include', 'render', 'layout', 'block'];
const removedFilters = ['sample', 'raw'];

/** Compiles the templates of a file; times are shown in its zone. */
export function createTemplates(timeZone: string): (kind: TriggerKind, text: string) => Template | Fault {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    timezoneOffset: timeZone,
    parseLimit: 20_000,
    memoryLimit: 1_000_000,
    // Whatever it would look for, there are no files.
    templates: {},
  });
  for (const tag of removedTags) delete engine.tags[tag];
  for (const filter of removedFilters) delete engine.filters[filter];

  const render = (parsed: Parsed[], facts: Facts) => String(engine.renderSync(parsed, contextOf(engine, facts))).trim();

  return (kind, text) => {
    try {
      const parsed = engine.parse(text);
      const fault = unknownName(kind, text, engine.globalFullVariablesSync(parsed));
      if (fault) return fault;
      const plain = plainTemplate(text);
      if (plain) return checkedSize(kind, plain);
      return checkedSize(kind, { render: (facts) => render(parsed, facts) });
    } catch (error) {
      return engineFault(text, error, engine);
    }
  };
}

/** The engine's own limit is one of time, which a machine under load or a process that was halted breaks with any text. */
function contextOf(engine: Liquid, facts: Facts): Context {
  const context = new Context(templateFacts(facts), engine.options, { sync: true }, { liquid: engine });
  let pieces = 0;
  context.renderLimit.check = () => {
    pieces += 1;
    if (pieces > mostPieces) throw new Error('template render limit exceeded');
  };
  return context;
}

function checkedSize(kind: TriggerKind, template: Template): Template | Fault {
  for (const facts of fixturesOf(kind)) {
    const size = Buffer.byteLength(template.render(facts));
    if (size > longestBytes) {
      return { offset: 0, message: `This comes to ${size} bytes.`, cure: `A text may have ${longestBytes}.` };
    }
  }
  return template;
}

const plainPlace = /\{\{\s*(\w+)\.(\w+)\s*\}\}/;

/**
 * A text with nothing but words and the names of facts, which most are, without the engine: it takes longer for one such
 * text than a rule for its condition. Undefined for whatever asks for more.
 */
function plainTemplate(text: string): Template | undefined {
  const parts = text.split(plainPlace);
  const words = parts.filter((_, at) => at % 3 === 0);
  if (words.some((part) => part.includes('{{') || part.includes('{%'))) return undefined;
  const places = words.slice(1).map((_, at) => ({ group: parts[at * 3 + 1] ?? '', name: parts[at * 3 + 2] ?? '' }));
  const isPlain = places.every(({ group, name }) =>
    ['string', 'int', 'bool'].includes(declarationOf(`${group}.${name}`)?.type ?? ''),
  );
  if (!isPlain) return undefined;
  return {
    render: (facts) =>
      words
        .map((part, at) => {
          const place = places[at - 1];
          const known = place && (facts[place.group as FactGroup] as Record<string, unknown> | undefined)?.[place.name];
          return `${known ?? ''}${part}`;
        })
        .join('')
        .trim(),
  };
}

function unknownName(kind: TriggerKind, text: string, names: readonly string[]): Fault | undefined {
  for (const name of names) {
    const [group = '', fact] = name.split('.');
    if (name === 'now' || (fact !== undefined && isKnown(kind, group) && declarationOf(`${group}.${fact}`))) continue;
    const offset = Math.max(0, text.indexOf(name));
    if (!isKnown(kind, group)) {
      const isElsewhere = Object.hasOwn(declaredFacts, group);
      return {
        offset,
        message: isElsewhere ? `${kind} knows nothing of \`${group}\`.` : `There is nothing called ${group}.`,
        cure: isElsewhere ? `It knows ${groupsOf[kind].join(', ')}.` : didYouMean(group, ['now', ...groupsOf[kind]]),
      };
    }
    const names = Object.keys(declaredFacts[group as FactGroup]);
    if (fact === undefined)
      return { offset, message: `${group} is no text.`, cure: `Name one of its facts: ${names.join(', ')}.` };
    return {
      offset: offset + group.length + 1,
      message: `There is no fact ${group}.${fact}.`,
      cure: didYouMean(fact, names),
    };
  }
  return undefined;
}

function isKnown(kind: TriggerKind, group: string): boolean {
  return groupsOf[kind].includes(group as FactGroup);
}

function engineFault(text: string, error: unknown, engine: Liquid): Fault {
  const { message, token } = error as Error & { token?: { begin?: number } };
  const what = message.replace(/, line:\d+, col:\d+$/, '').replace(/\s+/g, ' ');
  const offset = token?.begin ?? 0;
  const [, filter] = /^undefined filter: (\S+)/.exec(what) ?? [];
  if (filter !== undefined) {
    const at = Math.max(offset, text.indexOf(filter, offset));
    return {
      offset: at,
      message: `There is no filter ${filter}.`,
      cure: filterCure(filter, Object.keys(engine.filters)),
    };
  }
  const [, tag] = /^tag "?(\w+)"? not found/.exec(what) ?? [];
  if (tag !== undefined)
    return { offset, message: `There is no tag ${tag}.`, cure: didYouMean(tag, Object.keys(engine.tags)) };
  return {
    offset,
    message: `${what.charAt(0).toUpperCase()}${what.slice(1)}.`,
    cure: what.includes('not closed')
      ? 'A place ends with }}, a tag with %}, a block with its end tag, such as {% endif %}.'
      : 'See the texts of config/rules.yaml.',
  };
}

/** There are dozens: those that a text of a rule can use are named. */
function filterCure(filter: string, known: readonly string[]): string {
  const near = nearest(filter, known);
  return near === undefined
    ? 'Filters are those of Liquid, such as capitalize, date, default, first, size, split, truncate, upcase.'
    : `Did you mean "${near}"?`;
}
