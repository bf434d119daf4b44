import { expect, test } from 'vitest';
import { createTemplates, type Template } from '../../src/rules/conditions/template.ts';
import { fixturesOf } from '../../src/rules/facts/fixtures.ts';

const compile = createTemplates('America/New_York');

function rendered(text: string): string[] {
  const template = compile('transcript_ready', text) as Template;
  return fixturesOf('transcript_ready').map((facts) => template.render(facts));
}

// A comment is nothing to Liquid, and enough for a text not to be a plain one.
const byTheEngine = (text: string) => rendered(`${text}{% comment %}{% endcomment %}`);

test.each([
  'Nothing but words.',
  ' Spaces around. ',
  'Line {{ thread.line }}, number {{thread.number}}.',
  '{{ thread.message_count }}{{ thread.exists }}',
  'Missing: [{{ contact.name }}] [{{ transcript.satisfaction }}] [{{ thread.is_resolved }}]',
  '{{ line.can_text }} }} and "quotes" and {single} braces',
  'Several\nlines {{ transcript.text }}\n',
])('a text of words and facts alone comes out as the engine writes it: %j', (text) => {
  expect(rendered(text)).toEqual(byTheEngine(text));
});
