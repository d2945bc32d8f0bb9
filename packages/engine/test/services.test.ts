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

test('P110, P112: services of the build live as long as the attempt, for steps that list them and for those that do not', async () => {
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

test('P113: a readiness that never succeeds fails the step after its tries, with the last words of the service', async () => {
  const result = await run(`
steps:
  one:
    image: $SHELL
    services:
      composition:
        db: { image: $SHELL, command: ['sh', '-c', 'echo the disk is full; sleep 1000'] }
      readiness:
        image: $SHELL
        commands: [echo nobody answers, exit 4]
        periodSeconds: 1
        failureThreshold: 2
    commands: [echo never]
`)
  const step = result.snapshot.steps['one']
  expect(step).toMatchObject({ status: 'error', reason: 'service-failed' })
  expect(step?.message).toMatch(/2 of 2 tries of `readiness` failed, the last with exit code 4; its last lines: nobody answers/)
  expect(step?.message).toContain('Service "db" runs; its last lines: the disk is full')
  expect(result.output('one')).not.toContain('never')
  expect(result.log('one.services').match(/^readiness {2}\| nobody answers$/gm)).toHaveLength(2)
})

test('P113: a try of readiness that takes too long has failed, and a service that has ended is not waited for', async () => {
  const result = await run(`
steps:
  slow:
    image: $SHELL
    fail_fast: false
    services:
      composition:
        db: { image: $SHELL, command: ['sleep', '1000'] }
      readiness: { image: $SHELL, commands: [sleep 100], timeoutSeconds: 1, failureThreshold: 1 }
  dead:
    image: $SHELL
    services:
      composition:
        db: { image: $SHELL, command: ['sh', '-c', 'echo no such user >&2; exit 9'] }
      readiness: { image: $SHELL, commands: ['false'], periodSeconds: 60, failureThreshold: 9 }
`)
  expect(result.snapshot.steps['slow']?.message).toContain('It took longer than 1 s.')
  expect(result.snapshot.steps['dead']?.message).toContain('Service "db" ended with exit code 9; its last lines: no such user')
})

test('P114: the setup runs after the services are ready and before the step, with the variables of the build', async () => {
  const result = await run(`
steps:
  export: { image: $SHELL, commands: [cf_export LATE=exported] }
  one:
    image: $SHELL
    services:
      composition:
        store: { image: $SHELL, volumes: ['\${{CF_VOLUME_NAME}}:\${{CF_VOLUME_PATH}}'], command: ['sh', '-c', 'sleep 1; touch /codefresh/volume/ready; sleep 1000'] }
      readiness:
        image: $SHELL
        commands: ['[ "$LATE" = exported ]', '[ -f /codefresh/volume/ready ]', 'echo ready >> /codefresh/volume/order']
        periodSeconds: 1
        failureThreshold: 20
      setup:
        image: $SHELL
        commands: ['echo "setup $LATE" >> /codefresh/volume/order', 'nslookup store >/dev/null']
    commands: ['echo step >> order', 'cat order']
`)
  expect(result.output('one')).toContain('ready\nsetup exported\nstep\n')
})

test('P115: with shared_host_network services and step are on one localhost', async () => {
  const result = await run(`
services:
  shared_host_network: true
  composition:
    store: ${STORE}
steps:
  one:
    image: $SHELL
    commands: ['for n in 1 2 3 4 5 6; do wget -q -O- http://localhost:80/ && break || sleep 1; done']
  two:
    image: $SHELL
    services:
      shared_host_network: true
      composition:
        other: { image: $SHELL, command: ['sh', '-c', 'mkdir /w; echo second > /w/index.html; exec httpd -f -p 81 -h /w'], ports: ['81:81'], hostname: other }
    commands: ['for n in 1 2 3 4 5 6; do wget -q -O- http://localhost:81/ && break || sleep 1; done', 'wget -q -O- http://localhost:80/']
`)
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('second')
  expect(result.output('two')).toContain('begun')
})

test('P116: a service is made of the image that a build step has built', async () => {
  const result = await run(`
steps:
  build:
    type: build
    image_name: windlass-test/service
    dockerfile: { content: "FROM $SHELL\\nCMD sh -c 'echo made here; sleep 1000'" }
    disable_push: true
  one:
    image: $SHELL
    services:
      composition:
        own: { image: '\${{build}}' }
      readiness: { image: $SHELL, commands: [nslookup own], periodSeconds: 1 }
    commands: [nslookup own >/dev/null && echo found]
`)
  expect(result.output('one')).toContain('found')
  expect(result.log('one.services')).toContain('own_1  | made here')
})

test('services of a group live as long as the group; steps beside each other have services of their own under one name', async () => {
  const result = await run(`
steps:
  both:
    type: parallel
    services:
      composition:
        store: ${STORE}
      readiness: { image: $SHELL, commands: [wget -q -O- http://store/], periodSeconds: 1 }
    steps:
      one:
        image: $SHELL
        services:
          composition: { mine: { image: $SHELL, hostname: first, command: ['sleep', '1000'] } }
        commands: [wget -q -O- http://store/, 'nslookup mine | grep -c "Address: "', sleep 2]
      two:
        image: $SHELL
        services:
          composition: { mine: { image: $SHELL, hostname: second, command: ['sleep', '1000'] } }
        commands: [wget -q -O- http://store/, 'nslookup mine | grep -c "Address: "', sleep 2]
  after: { image: $SHELL, commands: ['nslookup store && exit 1 || echo gone'] }
`)
  expect(result.output('one')).toBe('begun\n1\n')
  expect(result.output('two')).toBe('begun\n1\n')
  expect(result.output('after')).toContain('gone')
  expect(result.log('both.services')).toContain('listening')
})

const PARTS = `
version: '1.0'
kind: step-type
metadata: { name: probe, version: 1.0.0 }
spec:
  arguments: '{"type": "object", "properties": {}}'
  steps:
    first: { image: $SHELL, commands: [wget -q -O- http://store/] }
    second: { image: $SHELL, commands: [wget -q -O- http://inner/] }
`

test('services of the build reach hooks and the parts of typed steps, which may have services of their own', async () => {
  const result = await run(
    `
services:
  composition:
    store: ${STORE}
  readiness: { image: $SHELL, commands: [wget -q -O- http://store/], periodSeconds: 1 }
hooks:
  on_finish: { exec: { image: $SHELL, commands: [wget -q -O- http://store/] } }
steps:
  typed:
    type: probe
    services:
      composition:
        inner: ${STORE}
      readiness: { image: $SHELL, commands: [wget -q -O- http://inner/], periodSeconds: 1 }
`,
    { stepTypes: [PARTS] },
  )
  expect(result.outcome).toMatchObject({ status: 'success' })
  for (const step of ['typed.first', 'typed.second', '.on_finish']) expect(result.output(step)).toContain('begun')
})

test('a step that fails tells which service had ended, and nothing is left of services when a build is cancelled', async () => {
  const failed = await run(`
steps:
  one:
    image: $SHELL
    services:
      composition:
        db: { image: $SHELL, command: ['sh', '-c', 'echo panic; exit 2'] }
    commands: [sleep 2, exit 1]
`)
  expect(failed.snapshot.steps['one']?.message).toBe('Exit code 1. Service "db" ended with exit code 2; its last lines: panic')

  const cancel = new AbortController()
  const cancelled = await run(
    `
services:
  composition: { db: { image: $SHELL, command: ['sleep', '1000'] } }
  readiness: { image: $SHELL, commands: [echo trying, 'false'], periodSeconds: 1, failureThreshold: 100 }
steps:
  one: { image: $SHELL, commands: [echo never] }
`,
    { cancel: cancel.signal, onOutput: (_, said) => said.includes('trying') && cancel.abort() },
  )
  expect(cancelled.outcome.status).toBe('terminated')
})
