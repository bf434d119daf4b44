import { RE2JS } from 're2js';

const compiled = new Map<string, RE2JS>();
const mostKept = 1_000;

/**
 * Whether a text contains what a pattern describes, in time linear in its length whatever the pattern: the engine's own
 * regular expressions can take seconds over thirty characters. Throws where the pattern is none.
 */
export function contains(text: string, pattern: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = RE2JS.compile(pattern);
    if (compiled.size >= mostKept) compiled.clear();
    compiled.set(pattern, expression);
  }
  return expression.matcher(text).find();
}
