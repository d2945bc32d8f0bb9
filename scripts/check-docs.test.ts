import { expect, test } from 'vitest'
import { findViolations, headingsOf, linksOf, mentionsOf, unlistedPages } from './check-docs.ts'

const files = (entries: Record<string, string>): Map<string, string> => new Map(Object.entries(entries))

test('reports a page that no index lists', () => {
  const pages = files({
    'docs/README.md': '[steps](guides/steps/README.md) [first](guides/first.md)',
    'docs/guides/first.md': '[more](hidden.md)',
    'docs/guides/hidden.md': '',
    'docs/guides/steps/README.md': '[build](build.md)',
    'docs/guides/steps/build.md': '',
  })
  expect(unlistedPages(pages)).toEqual(['docs/guides/hidden.md'])
})

test('reports a link to a file or heading that does not exist', () => {
  const pages = files({
    'README.md':
      '[a](docs/README.md#here)\n[b](docs/README.md#gone)\n[c](docs/none.md)\n[d](https://example.com/none.md) [e](docs)\n',
    'docs/README.md': '# Here\n[up](../README.md)\n[own](#here)',
  })
  expect(findViolations(pages)).toEqual([
    'README.md:2: docs/README.md has no heading for #gone',
    'README.md:3: docs/none.md does not exist',
  ])
})

test('reports a path of docs/ in code that does not exist', () => {
  const code = files({
    'docs/README.md': '[a](guides/a.md) [b](development/adr/0001-b.md)',
    'docs/guides/a.md': '## Two words',
    'docs/development/adr/0001-b.md': '',
    'packages/x/a.ts': [
      "hint: 'See docs/guides/a.md#two-words.'",
      '// (docs/development/adr/0001), docs/guides/*.md',
      "page: 'guides/a.md#one'",
      '// docs/adr/0001, https://kubernetes.io/docs/none',
      '// docs/development/adr/0002',
    ].join('\n'),
  })
  expect(findViolations(code)).toEqual([
    'packages/x/a.ts:3: docs/guides/a.md has no heading for #one',
    'packages/x/a.ts:4: docs/adr/0001 does not exist',
    'packages/x/a.ts:5: docs/development/adr/0002 does not exist',
  ])
})

test('ignores links in code', () => {
  expect(linksOf('`[a](b.md)`\n```\n[c](d.md)\n```\n[e](f.md)\n[g]: h.md')).toEqual([
    { line: 5, target: 'f.md' },
    { line: 6, target: 'h.md' },
  ])
})

test('anchors are those of a forge', () => {
  const headings = headingsOf('# `run`: a, b & c\n## [Linked](x.md) title\n## Twice\n## Twice\n```\n# no heading\n```')
  expect(headings.map(({ anchor }) => anchor)).toEqual(['run-a-b--c', 'linked-title', 'twice', 'twice-1'])
})

test('finds paths relative to the repository and to docs', () => {
  expect(mentionsOf('see docs/a.md, `runner/b.md` and /runner/c.md')).toEqual([
    { line: 1, target: 'docs/a.md' },
    { line: 1, target: 'docs/runner/b.md' },
  ])
})

test('reports text that a browser takes for a tag', () => {
  const page = files({ 'docs/README.md': 'a <name>, `<name>`, 1 < 2, \\<name>\n```\n<name>\n```\n<!-- <a> -->' })
  expect(findViolations(page)).toEqual(['docs/README.md:1: a browser does not show <name>; put it into backticks'])
})
