import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { manualClock, silentLog, systemClock } from '@windlass/kit'
import { compile as compileText } from '@windlass/pipeline'
import { expect, test } from 'vitest'
import { Callers } from './caller-limits.ts'
import { isSmall } from './document-jobs.ts'
import { DOCUMENT_LIMITS, DocumentPool, type DocumentLimits } from './document-pool.ts'

const TEXT = 'version: 1\nsteps: {}\n'.padEnd(10_000, '#')
const compile = (pool: DocumentPool): Promise<unknown> =>
  pool.read('compile', { source: { text: TEXT, file: 'a.yml' }, options: {} }, TEXT)

/** Responds to each document with the id of its process. */
const TELLS_PID = `
  process.on('message', () => process.send({ cpuMs: 1, json: String(process.pid) }))
  process.send({ ready: true })`

/** A server that has processed a document and prints the id of the process. */
const SERVER = `
  import { readFileSync } from 'node:fs'
  import { silentLog, systemClock } from '@windlass/kit'
  import { DocumentPool } from './document-pool.ts'
  const pool = new DocumentPool(systemClock, silentLog)
  const text = 'version: 1'
  await pool.read('compile', { source: { text, file: 'a.yml' }, options: {} }, text, 'process')
  console.log(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim())
  setInterval(() => undefined, 1000)`

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs `work` with a pool whose process runs `program` instead of processing documents. */
async function withProgram(
  program: string,
  limits: Partial<DocumentLimits>,
  work: (pool: DocumentPool) => Promise<void>,
): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'windlass-documents-'))
  const file = join(folder.path, 'program.mjs')
  await writeFile(file, program)
  const pool = new DocumentPool(systemClock, silentLog, limits, pathToFileURL(file))
  await work(pool)
  await pool.close()
}

test('rejects a document if no process can be created, and tries again for the next one', async () => {
  // `fork` throws for such an address.
  const pool = new DocumentPool(systemClock, silentLog, {}, new URL('http://localhost/'))
  for (let n = 0; n < 3; n += 1) await expect(compile(pool)).rejects.toMatchObject({ code: 'unavailable' })
  await pool.close()
})

test('rejects a document and the next ones as unavailable if the process does not start in time', async () => {
  await withProgram('setInterval(() => undefined, 1000)', { documentWallMs: 50 }, async (pool) => {
    const answers = await Promise.allSettled([compile(pool), compile(pool), compile(pool)])
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual(Array(3).fill('unavailable'))
  })
})

test('a crash of the process, even of its runtime, fails only the current document', async () => {
  // Crashes at each second document.
  const program = `
    let count = 0
    process.on('message', () => {
      count += 1
      if (count === 2) return process.kill(process.pid, 'SIGSEGV')
      process.send({ cpuMs: 1, json: JSON.stringify({ count }) })
    })
    process.send({ ready: true })`
  await withProgram(program, {}, async (pool) => {
    for (let n = 0; n < 3; n += 1) {
      expect(await compile(pool)).toEqual({ count: 1 })
      await expect(compile(pool)).rejects.toMatchObject({ message: 'the document process ended unexpectedly' })
    }
  })
})

/** Appends a line to a file for each start, and sends the signal to itself instead of processing a document while `ends` is true. */
const endsItself = (signal: string, ends: string): string => `
  import { appendFileSync, readFileSync } from 'node:fs'
  const starts = new URL('starts', import.meta.url)
  appendFileSync(starts, '+')
  const count = readFileSync(starts, 'utf8').length
  process.on('message', () => {
    if (${ends}) process.kill(process.pid, '${signal}')
    else process.send({ cpuMs: 1, json: String(count) })
  })
  process.send({ ready: true })`

test('repeats a document once in a new process if the process is killed', async () => {
  await withProgram(endsItself('SIGKILL', 'count === 1'), {}, async (pool) => {
    expect(await Promise.all([compile(pool), compile(pool)])).toEqual([2, 2])
  })
})

test('a process that is killed twice is not the fault of the document, and costs its caller the time of two documents', async () => {
  const limits = { documentMs: 1_000, msPerMinute: 2_000 }
  await withProgram(endsItself('SIGKILL', 'count <= 2'), limits, async (pool) => {
    const refused = pool.as('one', () => compile(pool))
    await expect(refused).rejects.toMatchObject({ code: 'unavailable', retryable: true, hint: expect.stringContaining('memory') })
    await expect(pool.as('one', () => compile(pool))).rejects.toMatchObject({ code: 'rate-limited' })
    expect(await pool.as('two', () => compile(pool))).toBe(3)
  })
})

test('a process that is killed before it receives the document costs its caller nothing', async () => {
  await withProgram(`process.kill(process.pid, 'SIGKILL')`, { documentMs: 1_000, msPerMinute: 1 }, async (pool) => {
    for (let n = 0; n < 2; n += 1)
      await expect(pool.as('one', () => compile(pool))).rejects.toMatchObject({ code: 'unavailable' })
  })
})

test('a document that fills the heap is not repeated', async () => {
  await withProgram(endsItself('SIGABRT', 'count === 1'), {}, async (pool) => {
    await expect(compile(pool)).rejects.toMatchObject({ code: 'document-too-expensive' })
    expect(await compile(pool)).toBe(2)
  })
})

test('the process ends when the pool closes', async () => {
  await withProgram(TELLS_PID, {}, async (pool) => {
    const pid = Number(await compile(pool))
    expect(isRunning(pid)).toBe(true)
    await pool.close()
    expect(isRunning(pid)).toBe(false)
  })
})

test('the process ends when the server is killed', async () => {
  const server = spawn(process.execPath, ['--input-type=module', '--eval', SERVER], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [pid] = (await once(server.stdout, 'data')).map(Number)
  expect(isRunning(pid ?? 0)).toBe(true)
  server.kill('SIGKILL')
  await expect.poll(() => isRunning(pid ?? 0), { timeout: 60_000 }).toBe(false)
})

test('starts a new process for a document that arrives while the idle process ends', async () => {
  const pool = new DocumentPool(systemClock, silentLog, { idleMs: 0 })
  for (let n = 0; n < 3; n += 1) {
    expect(await compile(pool)).toMatchObject({ missing: [] })
    await systemClock.sleep(0)
  }
  await pool.close()
})

test('limits a caller to a quarter of the bytes, and rejects documents of a caller that has used its time', async () => {
  const clock = manualClock()
  const callers = new Callers(clock, DOCUMENT_LIMITS)
  const limited = expect.objectContaining({ code: 'rate-limited' })
  const entered = [callers.enter('one', 838_860), callers.enter('one', 838_860)]
  expect(() => callers.enter('one', 838_860)).toThrow(limited)
  for (let n = 0; n < 4; n += 1) callers.enter('two', 500_000)
  for (const leave of entered) leave()
  callers.enter('one', 838_860)
  callers.spend('two', 20_000)
  expect(() => callers.checkTime('two')).toThrow(limited)
  clock.advance(60_000)
  callers.checkTime('two')
})

test('does not limit the bytes of calls without a body, nor those of the only body of a caller', () => {
  const callers = new Callers(manualClock(), DOCUMENT_LIMITS)
  for (const caller of ['one', 'two', 'three']) callers.enter(caller, 4_194_304)
  for (let n = 0; n < 9; n += 1) callers.enter('one', 0)
  callers.enter('four', 0)
  callers.enter('four', 4_194_304)
  expect(() => callers.enter('four', 1)).toThrow('bytes of calls with documents')
})

test('checks small step types in the process, because they can use themselves many times', async () => {
  const steps = Array.from({ length: 90 }, (_, n) => `    s${n}: {type: 'a/b:1.0.0'}\n`).join('')
  const text = `kind: step-type\nmetadata: {name: a/b, version: 1.0.0}\nspec:\n  steps:\n${steps}`
  expect(isSmall(text)).toBe(true)
  await withProgram(TELLS_PID, {}, async (pool) => {
    expect(await pool.read('stepType', { text, file: '' }, text)).toEqual(expect.any(Number))
  })
})

test('does not treat long expressions as small', () => {
  for (const sign of ['+1', '&&1', '||1', '<1', '=1', '(', '/1'])
    expect(isSmall(`when: {condition: {all: {a: 1${sign.repeat(1_200)}}}}`)).toBe(false)
  expect(isSmall("version: '1.0'\nsteps:\n  a: {image: alpine, commands: [echo a && echo b]}\n")).toBe(true)
})

test('does not treat documents with aliases as small, however the anchor is written', () => {
  const aliases = (name: string): string => Array(25).fill(`*${name}`).join(',')
  for (const name of ['a', '&a', '"a', '&'])
    for (const key of ['a: ', '"a":', "'a':", '- ', '!!seq ', '!<tag:yaml.org,2002:seq> ', '? '])
      expect(isSmall(`${key}&${name} [x]\nb: [${aliases(name)}]\n`), key + name).toBe(false)
  expect(isSmall(`{"a":&a [x],"b":&b [${aliases('a')}],"c":[${aliases('b')}]}`)).toBe(false)
  expect(isSmall(`a: &&a [x]\nb: &&b [${aliases('&a')}]\nc: [${aliases('&b')}]\n`)).toBe(false)
  expect(isSmall('a: &a {x: y}\nb:\n  <<: *a\n')).toBe(false)
})

test('does not treat documents with a matrix as small, however the key is written', () => {
  const keys = [
    'matrix',
    '"matri\\x78"',
    '"\\u006datrix"',
    '"\\U0000006datrix"',
    '"mat\\\n        rix"',
    '"mat\\\r\n        rix"',
  ]
  for (const key of keys) {
    const text = `version: '1.0'\nsteps:\n  a:\n    ? ${key}\n    : {image: [x, y]}\n`
    expect(compileText({ text, file: '' }).plan?.steps.length, key).toBe(3)
    expect(isSmall(text), key).toBe(false)
  }
})

test('treats documents with the characters of shells as small', () => {
  const commands = [
    'rm -rf *.log && ls -l * &',
    'a & *b',
    "echo '&a *a'",
    'printf "\\x41" \\',
    '  | tee "$OUT"',
    '[ $# -gt 0 ] && b=*a',
  ]
  const document = `version: '1.0'
steps:
  a:
    image: alpine
    when: {branch: {only: ['/.*/', 'release-*']}}
    commands:
      - |
${commands.map((line) => `        ${line}`).join('\n')}
      - echo a && rm *.txt
      - "echo \\"*a\\" && b &c"
`
  expect(isSmall(document)).toBe(true)
})
