/** Services beside steps, on a real daemon. */
import { afterEach, expect, test } from 'vitest'
import { leftOf } from './support/left-of.ts'
import { runPipeline } from './support/run-pipeline.ts'

const seen: string[] = []
afterEach(async () => {
  for (const buildId of seen.splice(0)) expect(await leftOf(buildId)).toEqual([])
})

async function run(text: string, options: Parameters<typeof runPipeline>[1] = {}) {
  const result = await runPipeline(`version: '1.0'\n${text}`, options)
  seen.push(result.buildId)
  return result
}

/** Keeps what is put into it for as long as it lives: `wget -q -O- http://<name>/<value>` adds a line, `/` shows them. */
const STORE = `{ image: $SHELL, command: ['sh', '-c', 'mkdir /www; echo begun > /www/index.html; echo listening; exec httpd -f -p 80 -h /www'] }`

test('P110: services of the build live as long as the attempt: what is in them survives between steps', async () => {
  const result = await run(`
services:
  name: stores
  composition:
    store: ${STORE}
  readiness:
    image: $SHELL
    commands: [wget -q -O- http://store/]
    periodSeconds: 1
steps:
  one: { image: $SHELL, commands: [wget -q -O- http://store/, 'hostname'] }
  two: { image: $SHELL, services: [stores], commands: [wget -q -O- http://store/] }
`)
  expect(result.outcome).toMatchObject({ status: 'success' })
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('begun')
  expect(result.output('.services')).toMatch(/^store_1 {2}\| listening$/m)
})

test('P111: services of a step live for that step alone', async () => {
  const result = await run(`
steps:
  one:
    image: $SHELL
    services:
      composition:
        store: ${STORE}
      readiness:
        image: $SHELL
        commands: [wget -q -O- http://store/]
        periodSeconds: 1
    commands: [wget -q -O- http://store/]
  two: { image: $SHELL, commands: ['nslookup store && exit 1 || echo gone'] }
`)
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('gone')
  expect(result.status('two')).toBe('success')
  expect(result.log('one.services')).toContain('store_1  | listening')
})
