/** The schemas that readers of the database may open: their comments are stored in it. */
const openSchemas = ['reporting', 'warehouse'];

/** One statement of a file, with its leading comments. */
const statementPattern = /(?:--.*|'[^']*'|\$\$[\s\S]*?\$\$|[^;])+;?/g;
const createPattern = /((?:^-- .*\n)*)^create (?:or replace )?(schema|table|view|function) ([\w.]+)([\s\S]*)/m;

/**
 * Adds a `comment on` to each statement of a SQL file that creates something in an open schema. The `-- ` lines
 * directly above the statement describe what it creates. The description of a column follows it on its line, or stands
 * above it.
 */
export function withComments(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(statementPattern, (statement) => [statement, ...commentsOf(statement)].join('\n'));
}

function commentsOf(statement: string): string[] {
  const [, above = '', kind = '', name = '', rest = ''] = createPattern.exec(statement) ?? [];
  if (!openSchemas.some((schema) => name === schema || name.startsWith(`${schema}.`))) return [];
  const words = above.replaceAll(/^-- /gm, '').trimEnd().replaceAll('\n', ' ');
  const comments = columnsOf(kind, rest).map((column) => commentOn('column', `${name}.${column.name}`, column.words));
  return words === '' ? comments : [commentOn(kind, name, words), ...comments];
}

function commentOn(kind: string, name: string, words: string): string {
  return `comment on ${kind} ${name} is '${words.replaceAll("'", "''")}';`;
}

interface Column {
  readonly name: string;
  readonly words: string;
}

/** The described columns of a table, or of the outermost select list of a view, which has at most one on a line. */
function columnsOf(kind: string, rest: string): Column[] {
  if (kind === 'table') return describedIn(/^ \(\n([\s\S]*?)\n\)/.exec(rest)?.[1], /^\s*(\w+)/);
  if (kind === 'view') return describedIn(/^select.*\n([\s\S]*?)\nfrom /m.exec(rest)?.[1], /(\w+),?\s*$/);
  return [];
}

function describedIn(list: string | undefined, namePattern: RegExp): Column[] {
  const lines = list?.split('\n') ?? [];
  const columns: Column[] = [];
  let code = '';
  let words: string[] = [];
  for (const [at, line] of lines.entries()) {
    const [, written = '', comment] = /^((?:'[^']*'|(?!--)[^'])*)(?:-- (.*))?$/.exec(line) ?? [];
    code += written;
    if (comment !== undefined) words.push(comment);
    if (at < lines.length - 1 && !isWhole(code)) continue;
    if (words.length > 0) columns.push({ name: namePattern.exec(code)?.[1] ?? '', words: words.join(' ') });
    code = '';
    words = [];
  }
  return columns;
}

/** Whether a comma outside of parentheses ends the column. */
function isWhole(code: string): boolean {
  const bare = code.replaceAll(/'[^']*'/g, '').trimEnd();
  return bare.endsWith(',') && bare.split('(').length === bare.split(')').length;
}
