import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { LogMarker, MAX_FOLDS, MAX_PROBLEMS, NO_MARKS, type LogMarksState } from './log-marks.ts'

const FOLDER = new URL('../../test/log-corpus/', import.meta.url)
const ESC = '\u001B'

function withoutColors(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\u001B\[[\d;]*m/g, '')
}

function marksOf(raw: string): LogMarksState {
  const marker = new LogMarker()
  marker.take(raw, withoutColors(raw))
  return marker.state
}

/** Logs in the public output formats of compilers and test runners. `»` marks the first line that reports the failure; logs without it are of successes. */
const LOGS = readdirSync(FOLDER).map((name) => {
  const marked = readFileSync(new URL(name, FOLDER), 'utf8')
  const at = marked.split('\n').findIndex((line) => line.startsWith('»'))
  return { name, text: marked.replace('»', ''), first: at < 0 ? undefined : at }
})

test('the first problem is the first failure in at least nine of ten logs of failures (W051)', () => {
  const failures = LOGS.filter(({ first }) => first !== undefined)
  expect(failures.length).toBeGreaterThanOrEqual(30)
  const missed = failures.filter(({ text, first }) => marksOf(text).problems[0]?.line !== first)
  expect(missed.length, `wrong: ${missed.map(({ name }) => name).join(', ')}`).toBeLessThanOrEqual(failures.length / 10)
})

test('logs of successes have no problem, whatever words they contain', () => {
  const successes = LOGS.filter(({ first }) => first === undefined)
  expect(successes.length).toBeGreaterThanOrEqual(5)
  expect(successes.flatMap(({ name, text }) => marksOf(text).problems.map(({ text: line }) => `${name}: ${line}`))).toEqual([])
})

test('a problem has its line, its kind and its text', () => {
  expect(marksOf(`one\n[SYSTEM] The command ended with exit code 1.\na.c:1:2: error: ${'x'.repeat(400)}\n`).problems).toEqual([
    { line: 1, kind: 'system', text: '[SYSTEM] The command ended with exit code 1.' },
    { line: 2, kind: 'compiler', text: `a.c:1:2: error: ${'x'.repeat(284)}` },
  ])
})

test('finds the folds of four formats, also nested and in raw output (W061)', () => {
  const raw = [
    '::group::Install packages',
    'added 96 packages',
    `${ESC}[0Ksection_start:1700000000:my_section[collapsed=true]\r${ESC}[0KHeader of the section`,
    'inside',
    `${ESC}[0Ksection_end:1700000100:my_section\r${ESC}[0K`,
    '::endgroup::',
    `travis_fold:start:before_install\r${ESC}[0K$ apt-get update`,
    'Hit:1',
    `travis_fold:end:before_install\r${ESC}[0K`,
    '--- :npm: Test',
    'ok',
    '+++ Publish',
    'done',
    '~~~ Clean up',
  ].join('\n')
  expect(marksOf(raw).folds).toEqual([
    { style: 'group', name: 'Install packages', from: 0, to: 5, depth: 0, isFolded: true },
    { style: 'section', name: 'Header of the section', from: 2, to: 4, depth: 1, isFolded: true },
    { style: 'travis', name: '$ apt-get update', from: 6, to: 8, depth: 0, isFolded: true },
    { style: 'heading', name: ':npm: Test', from: 9, to: 10, depth: 0, isFolded: true },
    { style: 'heading', name: 'Publish', from: 11, to: 12, depth: 0, isFolded: false },
    { style: 'heading', name: 'Clean up', from: 13, depth: 0, isFolded: true },
  ])
})

test('finds groups in the spelling of Azure Pipelines', () => {
  expect(marksOf('##[group]Install\nok\n##[endgroup]\n').folds).toMatchObject([
    { style: 'group', name: 'Install', from: 0, to: 2 },
  ])
})

test('diffs, results of Go tests and ends without a start are no folds', () => {
  const raw =
    '--- old.txt\t2026\n+++ new.txt\t2026\n--- Expected\n+++ Actual\n--- FAIL: TestX (0.00s)\n::endgroup::\nsection_end:1:x\n---\n'
  expect(marksOf(raw).folds).toEqual([])
})

test('a fold that its end leaves out ends with the fold around it', () => {
  expect(marksOf('section_start:1:a\r\n::group::b\nsection_end:1:a\r\n').folds).toMatchObject([
    { name: 'a', from: 0, to: 2 },
    { name: 'b', from: 1, to: 2 },
  ])
})

test('finds the same marks if the log is read in parts, with the state as JSON between them', () => {
  for (const { text } of LOGS) {
    const lines = `::group::x\n${text}--- one\n+++ two\n--- three\n`.split(/(?<=\n)/)
    let state = NO_MARKS
    for (const line of lines) {
      const marker = new LogMarker(JSON.parse(JSON.stringify(state)) as LogMarksState)
      marker.take(line, withoutColors(line))
      ;({ state } = marker)
    }
    expect(state).toEqual(marksOf(lines.join('')))
  }
})

test('the number of marks is limited', () => {
  const { problems, isCut } = marksOf('a.c:1:1: error: x\n'.repeat(MAX_PROBLEMS + 1))
  expect([problems.length, isCut]).toEqual([MAX_PROBLEMS, true])
  const many = marksOf('::group::x\n::endgroup::\n'.repeat(MAX_FOLDS + 1))
  expect([many.folds.length, many.isCut]).toEqual([MAX_FOLDS, true])
})

test('hostile lines take linear time', () => {
  for (const part of ['error: ', '1:1: ', '( ', 'a.', '> ', '../', '[ERROR] ', ' › ', '::group::', 'x(1,1,1,', 'A\u00A0', '/'])
    expect(
      growth(10_000, (length) => void marksOf(`${part.repeat(length / part.length)}error fail\n`)),
      part,
    ).toBeLessThan(LINEAR)
})
