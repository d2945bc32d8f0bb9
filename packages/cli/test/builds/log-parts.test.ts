/** The parts of a log that `logs` prints: its streams, lines by number, search, and files. */
import { mkdtempDisposableSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('`logs` lists streams, prints lines, searches and saves', async () => {
  await using scene = await openHttpScene()
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-logs-'))
  const { build, engine } = await scene.start()
  const lines = Array.from({ length: 6_000 }, (_, n) => `\u001B[32mline ${n + 1}\u001B[0m\n`)
  for (let at = 0; at < lines.length; at += 1_000) await engine.log('step/hello', lines.slice(at, at + 1_000).join(''))
  await engine.log('system', 'Preparing line 17\n')
  const logs = (...words: string[]) => windlass(scene, ['logs', build.id, ...words])

  expect((await logs('--list')).text).toMatch(/STEP +LINES +SIZE .*\nhello +6000 +\d+ KiB .* open\nbuild +1 +18 B .* open\n/)
  expect(await logs('--step', 'hello', '--lines', '17-18')).toEqual({ code: 0, text: lines.slice(16, 18).join('') })
  expect((await logs('--step', 'hello', '--lines', '3-5500')).text).toBe(lines.slice(2, 5_500).join(''))
  expect((await logs('--step', 'hello', '--lines', '5999-')).text).toBe(lines.slice(5_998).join(''))
  expect(await logs('--step', 'hello', '--lines', '6001')).toEqual({ code: 0, text: 'The log has 6000 lines.\n' })

  expect((await logs('--search', 'LINE 17', '-i')).text.split('\n').slice(0, 2)).toEqual([
    'hello:17: line 17',
    'hello:170: line 170',
  ])
  expect((await logs('--search', 'line 17$', '--regex')).text).toBe('hello:17: line 17\nbuild:1: Preparing line 17\n')
  expect((await logs('--search', 'line 17$', '--regex', '--step', 'hello')).text).toBe('17: line 17\n')
  expect((await logs('--search', 'n')).text.match(/^hello:/gm)).toHaveLength(6_000)
  expect(await logs('--search', 'no such text')).toEqual({ code: 0, text: 'No line matches.\n' })
  const broken = await logs('--search', '(', '--regex')
  expect([broken.code, broken.text]).toEqual([2, expect.stringContaining('The pattern "(" cannot be used')])

  const file = join(folder.path, 'hello.log')
  expect((await logs('--save', file, '--step', 'hello')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''))
  expect((await logs('--save', `${file}.gz`, '--plain', '--step', 'hello')).code).toBe(0)
  expect(gunzipSync(readFileSync(`${file}.gz`)).toString()).toBe(lines.map((_, n) => `line ${n + 1}\n`).join(''))
  expect(readdirSync(folder.path).toSorted()).toEqual(['hello.log', 'hello.log.gz'])
})

test('`logs` prints reported problems, and the lines that another build lacks', async () => {
  await using scene = await openHttpScene()
  const green = await scene.start()
  await green.engine.log('step/hello', '[12:00:01] Running 412 files in /tmp/a1\nok\n')
  const red = await scene.start()
  await red.engine.log(
    'step/hello',
    '[13:10:59] Running 413 files in /tmp/b2\n\u001B[31mFAIL test/tax.test.js\u001B[0m\nexpected 19 to be 7\nok\n',
  )
  const logs = (...words: string[]) => windlass(scene, ['logs', red.build.id, ...words])
  expect(await logs('--problems')).toEqual({ code: 0, text: 'hello:2: FAIL test/tax.test.js\n' })
  expect(await logs('--problems', '--step', 'hello')).toEqual({ code: 0, text: '2: FAIL test/tax.test.js\n' })
  expect((await windlass(scene, ['logs', green.build.id, '--problems'])).text).toContain('reports no problem of a known form')
  const found = await logs('--new', '--step', 'hello', '--against', green.build.id)
  expect(found).toEqual({
    code: 0,
    text:
      '2: FAIL test/tax.test.js\n3: expected 19 to be 7\n' +
      `2 lines of hello are not in the log of build ${green.build.id} (number ${green.build.number}).\n`,
  })
  expect(await logs('--new')).toMatchObject({ code: 2, text: expect.stringContaining('no step of the build failed') })
  const missing = await logs('--new', '--step', 'hello')
  expect(missing).toMatchObject({ code: 3, text: expect.stringContaining('no successful build of the same branch') })
})

test.each([
  [
    'the problem of the failed step',
    'FAIL test/tax.test.js',
    ['Problem of hello:', '   4  line 4', '>  5  FAIL test/tax.test.js', '   6  line 6'],
  ],
  [
    'the last lines of a failed step without a known problem',
    'line 5',
    ['Last lines of hello:', '   5  line 5', '  14  line 14'],
  ],
])('`describe build` shows %s', async (_, fifth, expected) => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  const lines = Array.from({ length: 14 }, (__, n) => (n === 4 ? `\u001B[31m${fifth}\u001B[0m` : `line ${n + 1}`))
  await engine.log('step/hello', `${lines.join('\n')}\n`)
  const failure = { status: 'error', reason: 'exit-code', message: 'Exit code 1.' } as const
  await engine.event({ type: 'step.finished', step: 'hello', try: 1, ...failure, exitCode: 1, members: {}, exports: [] })
  await engine.finish({ status: 'error', reason: 'exit-code' })
  const { text } = await windlass(scene, ['describe', 'build', build.id])
  const shown = text.slice(text.indexOf(expected[0] ?? 'none')).split('\n')
  expect(shown).toEqual(expect.arrayContaining(expected))
  expect(shown.filter((line) => /^[> ] +\d+  /.test(line))).toHaveLength(10)
  expect(text).toContain(`The whole log: windlass logs ${build.id} --step hello\n`)
})

test.each([
  [['--lines', '1-2'], '--lines needs --step'],
  [['--lines', '2-1', '--step', 'hello'], '--lines takes a range'],
  [['--list', '--search', 'x'], '--list and --search cannot be used together.'],
  [['-f', '--save', 'x'], '--follow and --save cannot be used together.'],
  [['--tail', '5', '--search', 'x'], '--tail and --search cannot be used together.'],
  [['--regex'], '--regex needs --search.'],
  [['--attempt', '1'], '--attempt needs --list or --lines or --search or --problems or --new or --save.'],
  [['--against', '65a1b2c3d4e5f60718293a4b'], '--against needs --new.'],
  [['--new', '--problems'], '--problems and --new cannot be used together.'],
])('`logs` refuses %j', async (words, message) => {
  await using scene = await openHttpScene()
  const build = await scene.submit()
  const { code, text } = await windlass(scene, ['logs', build.id, ...words])
  expect([code, text]).toEqual([2, expect.stringContaining(message)])
})
