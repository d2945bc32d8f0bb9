/** Output of a step that tries to control the terminal of the user who reads it. */
import { once } from 'node:events'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { openTerminal } from '../../../e2e/runner/cli/terminal.ts'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import { windlass } from './windlass.ts'

/** Sequences that another character interrupts. Some terminals complete them, and so does a filter that removes only that character. */
const INTERRUPTED = '\u001B[\u00072J\u001B[\u009F6n\u001B[?1049\u0007h\u001B[\t2J\u001B[>4;2m'
/** Writes to the clipboard, sets the title, clears the screen, moves the cursor, resets the terminal, and asks for its state. */
const HOSTILE = `\u001B]52;c;aGFjaw==\u0007\u001B]0;title\u001B\\\u001B[2J\u001B[1;1H\u001Bc\u001B[6n\u009B2J${INTERRUPTED}`
const LINE = `${HOSTILE}\u001B[32mgreen\u001B[0m text`
// oxlint-disable-next-line no-control-regex
const COLORS = /\u001B\[[0-9;]*m/g
/** The command itself draws its status line with these. */
const OWN = '\r\u001B[2K'
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/

test('a step cannot control the terminal of a user by its output, title or error message', async () => {
  await using scene = await openHttpScene()
  const title = JSON.stringify(`${HOSTILE}say`)
  const document = `version: '1.0'\nsteps:\n  hello:\n    title: ${title}\n    image: alpine\n    commands: [echo]\n`
  const { build, engine } = await scene.start({ document })
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  await engine.log('step/hello', `first\n${LINE}\n`)
  const failed = { reason: 'exit-code', message: `${HOSTILE}It failed.` } as const
  await engine.event({ type: 'step.finished', step: 'hello', try: 1, status: 'error', members: {}, exports: [], ...failed })
  await engine.finish({ status: 'error', ...failed })
  const { server, adminToken } = scene
  const env = { ...process.env, WINDLASS_URL: server.url, WINDLASS_API_KEY: adminToken, WINDLASS_CONFIG: '/nowhere/config' }
  const commands = [
    ['logs', build.id, '--step', 'hello', '--tail', '1'],
    ['logs', build.id, '--step', 'hello'],
    ['logs', build.id],
    ['logs', build.id, '--follow'],
    ['describe', 'build', build.id],
    ['get', 'builds'],
    ['get', 'builds', '-o', 'yaml'],
  ]
  for (const words of commands) {
    const terminal = openTerminal(WINDLASS, words, { env, cwd: tmpdir() })
    await terminal.ended
    const received = terminal.received()
    expect(received, words.join(' ')).toMatch(words[0] === 'logs' ? /green.*text/ : /failed|error/)
    expect(received.replaceAll(OWN, '').replaceAll(COLORS, ''), words.join(' ')).not.toMatch(CONTROL)
  }
  const raw = await windlass(scene, ['logs', build.id, '--step', 'hello', '--tail', '1'])
  expect(raw.text).toBe(`${LINE}\n`)
})

test('a repository cannot control the terminal of a user by the name or the text of a file that is to be changed', async () => {
  await using scene = await openHttpScene()
  const change = {
    name: 'shop',
    gitSource: 'apps',
    repository: 'https://git.test/apps.git',
    branch: 'main',
    file: `${HOSTILE}shop.yaml`,
    revision: 'a'.repeat(40),
    before: 'a: 1\n',
    after: `a: 2 # ${LINE}\n`,
    others: [],
    isRefreshed: false,
    isVisible: true,
  }
  const runtime = http.createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(change)),
  )
  await once(runtime.listen(0, '127.0.0.1'), 'listening')
  const address = runtime.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const { server, adminToken } = scene
  const env = { ...process.env, WINDLASS_URL: server.url, WINDLASS_API_KEY: adminToken, WINDLASS_CONFIG: '/nowhere/config' }
  const words = ['gitops', 'app', 'edit', 'prod', 'shop', '--revision', 'v2', '--runtime-url', url]
  const terminal = openTerminal(WINDLASS, words, { env, cwd: tmpdir() })
  await terminal.says('Make a commit')
  terminal.type('n')
  await terminal.ended
  runtime.close()
  expect(terminal.shown()).toContain('shop.yaml to the branch main')
  // Prompts have sequences of their own, but none of these.
  for (const sequence of ['\u001B]', '\u001Bc', '\u001B[6n', '\u009B']) expect(terminal.received()).not.toContain(sequence)
})
