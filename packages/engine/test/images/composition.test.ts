/** Tests compositions on a real daemon with the real compose of the tools image. */
import { afterEach, expect, test } from 'vitest'
import { listLeftovers } from '../support/list-leftovers.ts'
import { image } from '../support/images.ts'
import { deleteImage } from '../support/make-image.ts'
import { startRegistry } from '../support/registry.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const seen: string[] = []
afterEach(async () => {
  for (const buildId of seen.splice(0)) expect(await listLeftovers(buildId)).toEqual([])
})

async function run(text: string, options: Parameters<typeof runPipeline>[1] = {}) {
  const result = await runPipeline(`version: '1.0'\nsteps:\n${text}`, options)
  seen.push(result.buildId)
  return result
}

test('takes the outcome from the exit codes of candidates only (P066)', async () => {
  const good = await run(`
  it:
    type: composition
    composition:
      version: '3.8'
      services:
        db:
          image: $SHELL
          command: ['sh', '-c', 'echo db is here; touch /volume/db; exit 7']
          volumes: ['\${{CF_VOLUME_NAME}}:/volume']
    composition_candidates:
      test:
        image: $SHELL
        # The composition ends with its candidate, so a service that has not started by then has no effect.
        command: sh -c "until test -e /volume/db; do sleep 0.1; done; echo fine && exit 0"
        volumes: ['\${{CF_VOLUME_NAME}}:/volume']
`)
  expect(good.status('it')).toBe('success')
  expect(good.output('it')).toMatch(/^test_1 {2}\| fine$/m)
  expect(good.output('it')).toMatch(/^db_1 {4}\| db is here$/m)

  const bad = await run(`
  it:
    type: composition
    composition:
      services:
        db: { image: $SHELL, command: ['sleep', '100'] }
    composition_candidates:
      test:
        image: $SHELL
        depends_on: [db]
        command: ['sh', '-c', 'nslookup db >/dev/null && echo found; echo no good; exit 3']
`)
  expect(bad.snapshot.steps['it']).toMatchObject({ status: 'error', reason: 'composition-failed', exitCode: 3 })
  expect(bad.snapshot.steps['it']?.message).toContain('Candidate "test" ended with exit code 3; its last lines: found ⏎ no good')
})

test('merges a candidate over the service of its name (P067)', async () => {
  const result = await run(`
  it:
    type: composition
    composition:
      services:
        test:
          image: nothing.invalid/of/that/name:1
          command: ['sh', '-c', 'echo kept $$A $$B']
          environment: { A: from-service, B: from-service }
    composition_candidates:
      test: { image: $SHELL, environment: [B=from-candidate] }
`)
  expect(result.output('it')).toContain('test_1  | kept from-service from-candidate')
  expect(result.status('it')).toBe('success')
})

test('runs a compose file of the shared volume and reports a missing one (P068)', async () => {
  const result = await run(`
  write:
    image: $SHELL
    commands:
      - mkdir -p app && echo 'A=of the file' > app/variables
      - |
        cat > app/compose.yml <<'END'
        services:
          test:
            command: ["sh", "-c", "echo $$A; cat /data/x; nslookup db >/dev/null && echo found"]
            env_file: [variables]
            volumes: ["./data:/data"]
            depends_on: { db: { condition: service_healthy } }
          db:
            image: $SHELL
            command: ["sleep", "100"]
            healthcheck: { test: ["CMD", "true"], interval: 1s }
        END
      - mkdir app/data && echo relative > app/data/x
  it:
    type: composition
    working_directory: /codefresh/volume/app
    composition: compose.yml
    composition_candidates:
      test: { image: $SHELL }
  missing:
    type: composition
    composition: nowhere.yml
    composition_candidates:
      test: { image: $SHELL }
`)
  expect(result.output('it')).toContain('test_1  | of the file\ntest_1  | relative\ntest_1  | found\n')
  expect(result.status('it')).toBe('success')
  expect(result.snapshot.steps['missing']?.message).toContain('There is no compose file at /codefresh/volume/nowhere.yml.')
})

test('substitutes composition_variables, and passes neither them nor build variables to containers (P069)', async () => {
  const result = await run(
    `
  it:
    type: composition
    composition: { services: {} }
    composition_variables: ['X=from the step', 'Y=a=b']
    composition_candidates:
      test:
        image: $SHELL
        environment: { GIVEN: '\${X}', PATHS: '\${PATH}', REF: '\${{SECRET}}' }
        command: ['sh', '-c', 'echo "$$GIVEN|\${Y}|$$PATHS|$$X|$$FROM_BUILD|$$REF"']
`,
    { variables: { FROM_BUILD: 'no' }, secrets: { SECRET: 'pa$$w${Y}rd' } },
  )
  expect(result.output('it')).toContain('test_1  | from the step|a=b||||*****')
  expect(result.log('it')).toMatch(/"PATH\\?" variable is not set/)
})

test('mounts all or part of the shared volume on request (P070)', async () => {
  const result = await run(`
  write: { image: $SHELL, commands: ['mkdir -p deep', 'echo shared > deep/x'] }
  it:
    type: composition
    composition:
      services:
        own: { image: $SHELL, command: ['sh', '-c', 'ls /codefresh/volume 2>&1'] }
        part: { image: $SHELL, volumes: ['/codefresh/volume/deep:/part:ro'], command: ['sh', '-c', 'cat /part/x; touch /part/y'] }
    composition_candidates:
      test:
        image: $SHELL
        volumes: ['\${{CF_VOLUME_NAME}}:\${{CF_VOLUME_PATH}}']
        depends_on: { part: { condition: service_completed_successfully, required: false }, own: { condition: service_completed_successfully, required: false } }
        command: ['sh', '-c', 'cat /codefresh/volume/deep/x; echo back > /codefresh/volume/back']
  all:
    type: composition
    add_flow_volume_to_composition: true
    composition: { services: {} }
    composition_candidates:
      test: { image: $SHELL, command: ['cat', '/codefresh/volume/back'] }
  outside:
    type: composition
    composition: { services: {} }
    composition_candidates:
      test: { image: $SHELL, volumes: ['/etc:/host', '../../../root:/x'], command: ['ls', '/host'] }
`)
  expect(result.output('it')).toContain('test_1  | shared')
  expect(result.output('it')).toContain('part_1  | shared')
  expect(result.output('it')).toContain('Read-only file system')
  expect(result.output('all')).toContain('test_1  | back')
  expect(result.snapshot.steps['outside']?.message).toContain('only what is below /codefresh/volume can be mounted')
})

test('reports an unhealthy service with its last lines', async () => {
  const result = await run(`
  it:
    type: composition
    composition:
      services:
        db:
          image: $SHELL
          command: ['sh', '-c', 'echo cannot read the password; sleep 100']
          healthcheck: { test: ['CMD', 'false'], interval: 500ms, retries: 1 }
    composition_candidates:
      test: { image: $SHELL, command: ['true'], depends_on: { db: { condition: service_healthy } } }
`)
  expect(result.snapshot.steps['it']).toMatchObject({ status: 'error', reason: 'composition-failed' })
  expect(result.snapshot.steps['it']?.message).toMatch(
    /unhealthy.*Service "db" is still running; its last lines: cannot read the password/,
  )
})

test('removes a composition that is canceled or times out', async () => {
  const cancel = new AbortController()
  const text = (timeout: string) => `
  it:
    type: composition
    ${timeout}
    composition:
      services:
        db: { image: $SHELL, command: ['sleep', '1000'], volumes: ['/anonymous', 'named:/named'] }
      volumes: { named: {} }
    composition_candidates:
      test: { image: $SHELL, command: ['sh', '-c', 'echo begun; sleep 1000'] }
`
  const cancelled = await run(text(''), {
    cancel: cancel.signal,
    onOutput: (_, text) => text.includes('begun') && cancel.abort(),
  })
  expect(cancelled.status('it')).toBe('terminated')
  const late = await run(text('timeout: 5s'))
  expect(late.snapshot.steps['it']).toMatchObject({ status: 'error', reason: 'timeout' })
})

test('runs the older test types as compositions (P189)', async () => {
  const result = await run(`
  travis:
    type: travis
    services:
      store: { image: $SHELL, ports: [80], environment: { GREETING: hello } }
    test: { image: $SHELL, command: 'echo "test in $PWD" && ls /codefresh/volume >/dev/null' }
  integration:
    type: integration-test
    fail_fast: false
    services:
      store: { image: $SHELL }
    test: { image: $SHELL, commands: ['echo one', 'false', 'echo two'] }
`)
  expect(result.output('travis')).toContain('test in /codefresh/volume')
  expect(result.status('travis')).toBe('success')
  expect(result.output('integration')).toContain('| one')
  expect(result.output('integration')).not.toContain('| two')
  expect(result.status('integration')).toBe('error')
})

test('pulls images with the login of the named registry and keeps built images on the daemon', async () => {
  await using registry = await startRegistry({ username: 'me', password: 'geheim' })
  const repository = `${registry.domain}/team/app`
  const app = `${repository}:1`
  const docker = await testDocker()
  await docker.tagImage(image('shell'), { repository, tag: '1' })
  await docker.pushImage({ repository, tag: '1' }, { login: { domain: registry.domain, username: 'me', password: 'geheim' } })
  await deleteImage(app)
  const registries = [
    { context: 'wrong', isDefault: true, domain: registry.domain, username: 'me', password: 'other' },
    { context: 'right', isDefault: false, domain: registry.domain, username: 'me', password: 'geheim' },
  ]
  const result = await run(
    `
  write: { image: $SHELL, commands: ['mkdir app', 'printf "FROM $SHELL\\nRUN touch /made\\n" > app/Dockerfile'] }
  it:
    type: composition
    registry_contexts: [right]
    composition: { services: { side: { image: '${app}', command: ['true'] } } }
    composition_candidates:
      test: { build: ./app, command: ['ls', '/made'] }
  wrong:
    type: composition
    fail_fast: false
    composition: { services: {} }
    composition_candidates: { test: { image: '${registry.domain}/team/other:1' } }
`,
    { input: { registries } },
  )
  expect(result.log('it')).toContain(`side: Image ${app} was pulled`)
  expect(result.output('it')).toContain('test_1  | /made')
  expect(result.snapshot.steps['wrong']).toMatchObject({ status: 'error', reason: 'image-not-found' })
})
