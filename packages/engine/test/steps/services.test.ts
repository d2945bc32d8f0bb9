/** Tests services beside steps on a real daemon. */
import { newId } from '@windlass/kit'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { listLeftovers } from '../support/list-leftovers.ts'
import { deleteImage } from '../support/make-image.ts'
import { runPipeline } from '../support/run-pipeline.ts'

const seen: string[] = []
afterEach(async () => {
  for (const buildId of seen.splice(0)) expect(await listLeftovers(buildId)).toEqual([])
})

async function run(text: string, options: Parameters<typeof runPipeline>[1] = {}) {
  const result = await runPipeline(`version: '1.0'\n${text}`, options)
  seen.push(result.buildId)
  return result
}

/** Stores lines in memory: `wget -q -O- http://<name>/<value>` adds a line, `/` returns all. */
const STORE = `{ image: $SHELL, command: ['sh', '-c', 'mkdir /www; echo begun > /www/index.html; echo listening; exec httpd -f -p 80 -h /www'] }`

test('runs services of the build for the whole attempt, for steps that list them and others (P110, P112)', async () => {
  const result = await run(`
services:
  name: stores
  composition:
    store: ${STORE}
  readiness:
    image: $SHELL
    commands: [wget -q -O- http://store/]
    periodSeconds: 1
    failureThreshold: 100
steps:
  one: { image: $SHELL, commands: [wget -q -O- http://store/, 'hostname'] }
  two: { image: $SHELL, services: [stores], commands: [wget -q -O- http://store/] }
`)
  expect(result.outcome).toMatchObject({ status: 'success' })
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('begun')
  expect(result.output('.services')).toMatch(/^store_1 {2}\| listening$/m)
})

test('runs services of a step for that step only (P111)', async () => {
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
        failureThreshold: 100
    commands: [wget -q -O- http://store/]
  two: { image: $SHELL, commands: ['nslookup store && exit 1 || echo gone'] }
`)
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('gone')
  expect(result.status('two')).toBe('success')
  expect(result.log('one.services')).toContain('store_1  | listening')
})

test('fails the step with the last lines of the service if readiness never succeeds (P113)', async () => {
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
        # Both attempts end by themselves, however slow the machine is.
        timeoutSeconds: 600
        failureThreshold: 2
    commands: [echo never]
`)
  const step = result.snapshot.steps['one']
  expect(step).toMatchObject({ status: 'error', reason: 'service-failed' })
  expect(step?.message).toMatch(
    /2 of 2 attempts of `readiness` failed, the last with exit code 4; its last lines: nobody answers/,
  )
  expect(step?.message).toContain('Service "db" runs; its last lines: the disk is full')
  expect(result.output('one')).not.toContain('never')
  expect(result.log('one.services').match(/^readiness {2}\| nobody answers$/gm)).toHaveLength(2)
})

test('fails a slow readiness attempt and does not wait for an exited service (P113)', async () => {
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

test('runs the setup after readiness and before the step, with the variables of the build (P114)', async () => {
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

test('puts services and step on one localhost with shared_host_network (P115)', async () => {
  const result = await run(`
services:
  shared_host_network: true
  composition:
    store: ${STORE}
steps:
  one:
    image: $SHELL
    commands: ['until wget -q -O- http://localhost:80/; do sleep 0.2; done']
  two:
    image: $SHELL
    services:
      shared_host_network: true
      composition:
        other: { image: $SHELL, command: ['sh', '-c', 'mkdir /w; echo second > /w/index.html; exec httpd -f -p 81 -h /w'], ports: ['81:81'], hostname: other }
    commands: ['until wget -q -O- http://localhost:81/; do sleep 0.2; done', 'wget -q -O- http://localhost:80/']
`)
  expect(result.output('one')).toContain('begun')
  expect(result.output('two')).toContain('second')
  expect(result.output('two')).toContain('begun')
})

test('creates a service from the image of a build step (P116)', async () => {
  const name = `windlass-test/${newId(Date.now())}`
  onTestFinished(() => deleteImage(name))
  const result = await run(`
steps:
  build:
    type: build
    image_name: ${name}
    dockerfile: { content: "FROM $SHELL\\nCMD sh -c 'echo made here; sleep 1000'" }
    disable_push: true
  one:
    image: $SHELL
    services:
      composition:
        own: { image: '\${{build}}' }
      readiness: { image: $SHELL, commands: [nslookup own], periodSeconds: 1, failureThreshold: 100 }
    commands: [nslookup own >/dev/null && echo found]
`)
  expect(result.output('one')).toContain('found')
  expect(result.log('one.services')).toContain('own_1  | made here')
})

test('runs services of a group with the group, and separate services for parallel steps', async () => {
  const result = await run(`
steps:
  both:
    type: parallel
    services:
      composition:
        store: ${STORE}
      readiness: { image: $SHELL, commands: [wget -q -O- http://store/], periodSeconds: 1, failureThreshold: 100 }
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

test('connects services of the build to hooks and parts of typed steps, which may have their own services', async () => {
  const result = await run(
    `
services:
  composition:
    store: ${STORE}
  readiness: { image: $SHELL, commands: [wget -q -O- http://store/], periodSeconds: 1, failureThreshold: 100 }
hooks:
  on_finish: { exec: { image: $SHELL, commands: [wget -q -O- http://store/] } }
steps:
  typed:
    type: probe
    services:
      composition:
        inner: ${STORE}
      readiness: { image: $SHELL, commands: [wget -q -O- http://inner/], periodSeconds: 1, failureThreshold: 100 }
`,
    { stepTypes: [PARTS] },
  )
  expect(result.outcome).toMatchObject({ status: 'success' })
  for (const step of ['typed.first', 'typed.second', '.on_finish']) expect(result.output(step)).toContain('begun')
})

test('reports exited services of a failed step and removes the services of a canceled build', async () => {
  const failed = await run(`
steps:
  one:
    image: $SHELL
    services:
      composition:
        db: { image: $SHELL, command: ['sh', '-c', 'echo panic; exit 2'] }
    # The name of a service goes with its container.
    commands: ['while nslookup db >/dev/null 2>&1; do sleep 0.1; done', exit 1]
`)
  expect(failed.snapshot.steps['one']?.message).toBe('Exit code 1. Service "db" ended with exit code 2; its last lines: panic.')

  const cancel = new AbortController()
  const cancelled = await run(
    `
services:
  composition: { db: { image: $SHELL, command: ['sleep', '1000'] } }
  readiness: { image: $SHELL, commands: [echo trying, 'false'], periodSeconds: 1, failureThreshold: 100 }
steps:
  one: { image: $SHELL, commands: [echo never] }
`,
    { cancel: cancel.signal, onOutput: (_, text) => text.includes('trying') && cancel.abort() },
  )
  expect(cancelled.outcome.status).toBe('terminated')
})
