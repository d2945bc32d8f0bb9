import { expect, test } from 'vitest'
import { recordOutput } from '../../../test/recorded-output.ts'
import { readSettings } from '../../config.ts'
import { showCurrent } from '../auth/action.ts'
import { runDoctor } from './action.ts'

const options = {
  only: 'server' as const,
  pod: false,
  agent: undefined,
  report: false,
  runtime: undefined,
  kubeContextName: undefined,
  kubeConfigPath: undefined,
  kubeNamespace: undefined,
  output: undefined,
}

test('a missing server is a failure if only the server is checked', async () => {
  const out = recordOutput()
  const settings = readSettings({ HOME: '/nowhere' })
  expect(await runDoctor({ args: [], options, out, settings })).toBe(1)
  expect(out.lines.join('\n')).toContain('No server is configured.')
})

test.each([
  [{ agent: 'cluster-1' }, '--agent checks nothing from here'],
  [{ report: true }, '--report stores findings about a cluster'],
])('refuses options that exclude each other: %o', async (more, message) => {
  const settings = readSettings({ HOME: '/nowhere' })
  const call = runDoctor({ args: [], options: { ...options, ...more }, out: recordOutput(), settings })
  await expect(call).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(message) })
})

test('shows the check that is running on a terminal only', async () => {
  const settings = readSettings({ HOME: '/nowhere', WINDLASS_URL: 'http://127.0.0.1:1', WINDLASS_API_KEY: 'a.b' })
  const run = async (isTTY: boolean, output?: 'json'): Promise<string[]> => {
    const out = recordOutput({ isTTY })
    expect(await runDoctor({ args: [], options: { ...options, output }, out, settings })).toBe(1)
    return out.written
  }
  const written = await run(true)
  expect(written).toContain('\r\x1B[K… server')
  expect(written.at(-1)).toBe('\r\x1B[K')
  expect(await run(false)).toEqual([])
  expect(await run(true, 'json')).toEqual([])
})

test('`auth current` shows context and server even if the server cannot be reached', async () => {
  const out = recordOutput()
  const settings = readSettings({ HOME: '/nowhere', WINDLASS_URL: 'http://127.0.0.1:1', WINDLASS_API_KEY: 'a.b' })
  await expect(showCurrent({ args: [], options: {}, out, settings })).rejects.toMatchObject({ code: 'server-unreachable' })
  expect(out.lines).toEqual(['Context:  (from WINDLASS_URL)', 'Server:   http://127.0.0.1:1'])
})
