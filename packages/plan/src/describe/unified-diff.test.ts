import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unifiedDiff } from './unified-diff.ts'

const labels = { before: 'version 1', after: 'version 2' }

test('shows changed lines with three lines of context, as diff -u does', () => {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`)
  const changed = lines.with(5, 'other').toSpliced(15, 0, 'new')
  expect(unifiedDiff(`${lines.join('\n')}\n`, `${changed.join('\n')}\n`, labels)).toBe(
    [
      '--- version 1',
      '+++ version 2',
      '@@ -3,7 +3,7 @@',
      ' line 2\n line 3\n line 4\n-line 5\n+other\n line 6\n line 7\n line 8',
      '@@ -13,6 +13,7 @@',
      ' line 12\n line 13\n line 14\n+new\n line 15\n line 16\n line 17',
      '',
    ].join('\n'),
  )
})

test('returns nothing for equal texts, and marks a missing line feed at the end', () => {
  expect(unifiedDiff('a\n', 'a\n', labels)).toBe('')
  expect(unifiedDiff('a\n', 'a', labels)).toBe(
    '--- version 1\n+++ version 2\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n',
  )
  expect(unifiedDiff('', 'a\nb\n', labels)).toBe('--- version 1\n+++ version 2\n@@ -0,0 +1,2 @@\n+a\n+b\n')
})

test('git applies the difference of random texts, and it is no longer than that of git', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-diff-'))
  const git = (...args: string[]) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
  let seed = 7
  const random = (below: number): number => (seed = (seed * 16_807) % 2_147_483_647) % below
  const text = (): string =>
    Array.from({ length: random(30) }, () => `${'abcd'[random(4)]}\n`).join('') + (random(4) === 0 ? 'end' : '')
  const size = (patch: string): number => patch.split('\n').filter((line) => /^[-+](?![-+]{2} )/.test(line)).length
  const pairs = Array.from({ length: 60 }, () => [text(), text()] as const).filter(
    ([before, after]) => before !== after && before !== '' && after !== '',
  )
  try {
    for (const [place, of] of [
      ['before', 0],
      ['after', 1],
      ['patched', 0],
    ] as const) {
      mkdirSync(join(folder, place))
      for (const [n, pair] of pairs.entries()) writeFileSync(join(folder, place, `${n}`), pair[of])
    }
    const patches = pairs.map(([before, after], n) => unifiedDiff(before, after, { before: `a/${n}`, after: `b/${n}` }))
    writeFileSync(join(folder, 'p'), patches.join(''))
    expect(git('apply', '--directory', 'patched', 'p').stderr).toBe('')
    for (const [n, [, after]] of pairs.entries()) expect(readFileSync(join(folder, 'patched', `${n}`), 'utf8')).toBe(after)
    // Of all files at once: one part for each.
    const ofGit = git('diff', '--no-index', '--minimal', 'before', 'after')
      .stdout.split(/^diff --git /m)
      .slice(1)
    expect(ofGit).toHaveLength(pairs.length)
    for (const part of ofGit) {
      const n = Number(/^a\/before\/(\d+) /.exec(part)?.[1])
      expect(size(patches[n] ?? '')).toBeLessThanOrEqual(size(part))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('does not search for the shortest difference of texts of 1 MiB in which each second line differs', () => {
  const text = (word: string): string =>
    Array.from({ length: 60_000 }, (_, n) => `${n % 2 === 0 ? word : 'same'} ${n}\n`).join('')
  const patch = unifiedDiff(text('old'), text('new'), labels)
  // The search takes the square of the changed lines, and would show equal lines as context.
  expect(patch.split('\n').filter((line) => line.startsWith(' '))).toEqual([' same 59999'])
})

test('shows a difference of hundreds of thousands of lines', () => {
  const lines = 'a\n'.repeat(300_000)
  const text = unifiedDiff('', lines, labels)
  expect(text.slice(0, 60)).toBe('--- version 1\n+++ version 2\n@@ -0,0 +1,300000 @@\n+a\n+a\n+a\n+a')
  expect(text.length).toBeGreaterThan(900_000)
})
