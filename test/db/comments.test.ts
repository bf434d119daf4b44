import { expect, test } from 'vitest';
import { withComments } from '../../src/db/comments.ts';

test.each([
  [
    'a table and its columns, wherever their words stand',
    `-- People who call.
-- They pay.
create table warehouse.callers (
  caller_id bigint primary key, -- Key, not a number.
  -- What they're called; it may
  -- be long.
  name text not null default '--',
  kind text check (kind in
    ('new', 'old')), -- Since when we know them.
  note text,
  primary key (caller_id)
);
create index callers_name on warehouse.callers (name);`,
    [
      `comment on table warehouse.callers is 'People who call. They pay.';`,
      `comment on column warehouse.callers.caller_id is 'Key, not a number.';`,
      `comment on column warehouse.callers.name is 'What they''re called; it may be long.';`,
      `comment on column warehouse.callers.kind is 'Since when we know them.';`,
    ],
  ],
  [
    'a view and the columns of its outermost list',
    `-- One row per call.
create view reporting.calls as
select
  c.call_id, -- The call; see ids.
  -- How it ended.
  case
    when c.is_missed then coalesce(c.reason, 'missed')
  end as outcome,
  (c.started_at)::date as day -- Its day.
from warehouse.calls c
  -- A note.
  join other o on true;`,
    [
      `comment on view reporting.calls is 'One row per call.';`,
      `comment on column reporting.calls.call_id is 'The call; see ids.';`,
      `comment on column reporting.calls.outcome is 'How it ended.';`,
      `comment on column reporting.calls.day is 'Its day.';`,
    ],
  ],
  [
    'a function, whose body may have statements',
    `-- Two.
create or replace function reporting.two() returns integer
language plpgsql as $$ begin
  -- A note;
  return 2;
end $$;`,
    [`comment on function reporting.two is 'Two.';`],
  ],
  ['a schema', '-- The mirror.\ncreate schema warehouse;', [`comment on schema warehouse is 'The mirror.';`]],
  ['nothing of schemas that readers may not open', '-- State.\ncreate table ops.state (\n  word text -- One.\n);', []],
  ['no line that is not directly above', '-- Calls\n\ncreate table warehouse.legs (\n  leg_id text\n);\n', []],
])('withComments describes %s', (_what, text, comments) => {
  const described = withComments(text);
  expect(described.split('\n').filter((line) => line.startsWith('comment on '))).toEqual(comments);
  expect(described.replaceAll(/\ncomment on .*;/g, '')).toBe(text);
});

test('withComments reads files with the line ends of Windows', () => {
  expect(withComments('-- The mirror.\r\ncreate schema warehouse;\r\n')).toContain(`is 'The mirror.';`);
});
