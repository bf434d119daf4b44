import { Context, Liquid, type Template as Parsed } from 'liquidjs';
import { type FactGroup, type Facts, groupsOf, sampleFacts, unknownFact } from '../facts/declared.ts';
import { templateFacts } from '../facts/values.ts';
import type { TriggerKind } from '../triggers.ts';
import type { TextProblem } from './expressions.ts';

/** A text with facts in it. */
export interface Template {
  /** The trimmed text. Throws when rendering exceeds the engine's limits. */
  render(facts: Facts): string;
}

/** The longest text that the service accepts, in bytes (section 8). */
const maxBytes = 2_000;

/** Nodes that one rendering may visit, counting each iteration of a loop. */
const maxNodes = 20_000;

/** Rules need no tags that read other files, and no filters whose result varies. */
const removedTags = ['include', 'render', 'layout', 'block'];
const removedFilters = ['sample', 'raw'];

/** Returns the compiler for the templates of a file. Renders times in the zone of the line, by default in this zone. */
export function createTemplates(timeZone: string): (kind: TriggerKind, text: string) => Template | TextProblem {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    timezoneOffset: timeZone,
    parseLimit: 20_000,
    memoryLimit: 1_000_000,
    // There are no files to include.
    templates: {},
  });
  for (const tag of removedTags) delete engine.tags[tag];
  for (const filter of removedFilters) delete engine.filters[filter];

  const render = (parsed: Parsed[], facts: Facts) => String(engine.renderSync(parsed, contextOf(engine, facts))).trim();

  return (kind, text) => {
    try {
      const parsed = engine.parse(text);
      const problem = nameProblem(kind, text, engine.globalFullVariablesSync(parsed));
      if (problem) return problem;
      return checkedSize(kind, { render: (facts) => render(parsed, facts) });
    } catch (error) {
      return engineProblem(error);
    }
  };
}

/** Limits nodes instead of time: on a busy machine any text can exceed the engine's own time limit. */
function contextOf(engine: Liquid, facts: Facts): Context {
  const zone = facts.hours?.time_zone;
  const options = zone ? { ...engine.options, timezoneOffset: zone } : engine.options;
  const context = new Context(templateFacts(facts), options, { sync: true }, { liquid: engine });
  let nodes = 0;
  context.renderLimit.check = () => {
    nodes += 1;
    if (nodes > maxNodes) throw new Error('template render limit exceeded');
  };
  return context;
}

function checkedSize(kind: TriggerKind, template: Template): Template | TextProblem {
  for (const facts of sampleFacts(kind)) {
    const size = Buffer.byteLength(template.render(facts));
    if (size > maxBytes) {
      return { offset: 0, message: `This text can take ${size} bytes.`, remedy: `The maximum is ${maxBytes} bytes.` };
    }
  }
  return template;
}

function nameProblem(kind: TriggerKind, text: string, names: readonly string[]): TextProblem | undefined {
  for (const name of names) {
    const [group = '', fact] = name.split('.');
    const problem = name !== 'now' && unknownFact(kind, group, fact);
    if (!problem) continue;
    const isGroupKnown = fact !== undefined && groupsOf[kind].includes(group as FactGroup);
    return { offset: Math.max(0, text.indexOf(name)) + (isGroupKnown ? group.length + 1 : 0), ...problem };
  }
  return undefined;
}

function engineProblem(error: unknown): TextProblem {
  const { message, token } = error as Error & { token?: { begin?: number } };
  const what = message.replace(/, line:\d+, col:\d+$/, '').replace(/\s+/g, ' ');
  return {
    offset: token?.begin ?? 0,
    message: `${what.charAt(0).toUpperCase()}${what.slice(1)}.`,
    remedy:
      'A fact is written {{ contact.name }}, a tag {% if … %} … {% endif %}. Filters are those of Liquid, such as capitalize, date, default, first, size, split, truncate, upcase.',
  };
}
