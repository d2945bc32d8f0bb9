/** Scripts of stages, run by the shells that images have. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { quoted } from './shell-script.ts'
import {
  addCommands,
  isPlainPath,
  removeVariableFiles,
  stageScript,
  writeVariableFiles,
  type StageOptions,
} from './stage-script.ts'
import type { Variable, Variables } from './variables.ts'

const SHELLS = ['bash', 'dash'] as const

function variablesOf(list: readonly Partial<Variable>[]): Variables {
  const all = list.map((one) => ({
    key: '',
    value: '',
    isPublic: false,
    isInternal: false,
    isFile: false,
    isMasked: false,
    isRaw: false,
    ...one,
  }))
  return { list: all, masked: [], valueOf: (key) => all.find((one) => one.key === key)?.value, expand: (text) => text }
}

function optionsOf(list: readonly Partial<Variable>[] = [], more: Partial<StageOptions> = {}): StageOptions {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-stage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return { variables: variablesOf(list), temporaryFolder: join(folder, 'app.tmp'), isTraced: false, ...more }
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(shell: string, script: string): Ended {
  const { status, stdout, stderr } = spawnSync(shell, ['-s'], {
    input: script,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  return { code: status, out: stdout, err: stderr }
}

describe.each(SHELLS)('by %s', (shell) => {
  test('each command is shown and runs in the same shell, and of several lines only the first is shown (G054)', () => {
    const script = stageScript(optionsOf(), (body) =>
      addCommands(body, ['cd /', 'X=1', 'echo "in $PWD $X"', 'if true\nthen echo yes\nfi']),
    )
    expect(run(shell, script)).toEqual({
      code: 0,
      err: '',
      out:
        '\u001B[32;1m$ cd /\u001B[0;m\n\u001B[32;1m$ X=1\u001B[0;m\n\u001B[32;1m$ echo "in $PWD $X"\u001B[0;m\nin / 1\n' +
        '\u001B[32;1m$ if true # collapsed multi-line command\u001B[0;m\nyes\n',
    })
  })

  test('the first command that fails ends the stage with its exit code (G028)', () => {
    const script = stageScript(optionsOf(), (body) => addCommands(body, ['echo one', '(exit 42)', 'echo two']))
    const { code, out } = run(shell, script)
    expect(code).toBe(42)
    expect(out).not.toContain('two\n')
    const checked = stageScript(optionsOf(), (body) =>
      addCommands(body, ['set +e', '(exit 7)', 'echo two'], { checksEach: true }),
    )
    expect(run(shell, checked).code).toBe(7)
  })

  test('variables arrive with their exact value, and files with their content (G048)', () => {
    const value = fc.string({ maxLength: 30, unit: 'grapheme' }).map((text) => text.toWellFormed().replaceAll('\0', ''))
    // All in one job, because most of the time a shell starts.
    const pairs = fc.sample(fc.tuple(value, value), 30)
    const options = optionsOf([
      ...pairs.flatMap(([plain, content], n) => [
        { key: `PLAIN_${n}`, value: plain },
        { key: `CONFIG_${n}`, value: content, isFile: true },
      ]),
      { key: 'not-a-name', value: 'x' },
    ])
    const prepare = stageScript(options, (body) => writeVariableFiles(body, options))
    expect(run(shell, prepare)).toEqual({ code: 0, out: '', err: '' })
    const show = stageScript(options, (body) => {
      for (const n of pairs.keys()) body.raw(`printf '%s|' "$PLAIN_${n}"; cat "$CONFIG_${n}"; printf '|%s\\0' "$CONFIG_${n}"`)
    })
    const { code, out, err } = run(shell, show)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.split('\0').slice(0, -1)).toEqual(
      pairs.map(([plain, content], n) => `${plain}|${content}|${options.temporaryFolder}/CONFIG_${n}`),
    )
    const clean = stageScript(options, (body) => removeVariableFiles(body, options))
    expect(run(shell, clean).code).toBe(0)
    expect(existsSync(options.temporaryFolder)).toBe(false)
  })

  test('what a stage writes to GITLAB_ENV is a variable of later stages (G049)', () => {
    const options = optionsOf()
    mkdirSync(options.temporaryFolder, { recursive: true })
    const first = stageScript(options, (body) =>
      body.raw(`printf 'A=one two\\nB=$HOME "x"\\n--bad\\n1C=no\\nD=last' >>"$GITLAB_ENV"`),
    )
    expect(run(shell, first).code).toBe(0)
    const second = stageScript(options, (body) => body.raw('printf "%s|" "$A" "$B" "$D"; sh -c \'printf "%s" "$A"\''))
    expect(run(shell, second)).toEqual({ code: 0, err: '', out: 'one two|$HOME "x"|last|one two' })
  })

  test('a traced stage shows what the shell runs (G055)', () => {
    const script = stageScript(optionsOf([], { isTraced: true }), (body) => addCommands(body, ['echo hello']))
    expect(run(shell, script).err).toContain('+ echo hello')
    expect(
      run(
        shell,
        stageScript(optionsOf(), (body) => addCommands(body, ['echo hello'])),
      ).err,
    ).toBe('')
  })
})

test('a pipe with a failing command fails where the shell can tell', () => {
  const script = stageScript(optionsOf(), (body) => addCommands(body, ['false | cat']))
  expect(run('bash', script).code).toBe(1)
  expect(run('dash', script).code).toBe(0)
})

test('a quoted word is one word, whatever it contains', () => {
  const word = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed().replaceAll('\0', ''))
  const words = fc.sample(word, 200)
  expect(run('dash', `printf '%s\\0' ${words.map(quoted).join(' ')}`)).toEqual({
    code: 0,
    err: '',
    out: words.map((text) => `${text}\0`).join(''),
  })
})

test('folders with characters of a shell are found before they are used', () => {
  expect(['/builds/acme/app', '/a b', '/a$b', '/a"b', '/a`b', 'a', '/a\nb'].map(isPlainPath)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})
