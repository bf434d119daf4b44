import { expect, test, vi } from 'vitest';
import { createTemplates, type Template } from '../../src/rules/conditions/template.ts';
import { sampleFacts } from '../../src/rules/facts/declared.ts';

const compile = createTemplates('America/New_York');

function rendered(text: string): string[] {
  const template = compile('transcript_ready', text) as Template;
  return sampleFacts('transcript_ready').map((facts) => template.render(facts));
}

test('a process that stands still while it writes a text writes it all the same', () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 10_000;
    return now;
  });
  expect(rendered('Hello{% if contact.name %} {{ contact.name | capitalize }}{% endif %}.')).toHaveLength(2);
  clock.mockRestore();
});

test.each([
  '{% for i in (1..900000) %}{% endfor %}',
  '{% for i in (1..900) %}{% for j in (1..900) %}{% endfor %}{% endfor %}',
])('a text without an end is a mistake: %s', (text) => {
  expect(compile('message_received', text)).toMatchObject({ message: 'Template render limit exceeded.' });
});
