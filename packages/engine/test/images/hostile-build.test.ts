/** Tests what steps can plant on the shared volume against builds and compositions, which have the registry logins of the account. */
import { afterAll, expect, test } from 'vitest'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { runPipeline } from '../support/run-pipeline.ts'

afterAll(deleteMadeImages)

const AUTH = Buffer.from('robot:hunter2hunter2').toString('base64')
const corp = { context: 'corp', isDefault: false, domain: 'registry.corp.example', username: 'robot', password: 'hunter2hunter2' }
const input = { registries: [corp], autoPush: false }

test.each([
  [
    'a context that is a link',
    ['ln -s /run/windlass /codefresh/volume/away'],
    'working_directory: away',
    '/codefresh/volume/away',
  ],
  [
    'a context below a link',
    ['mkdir -p /codefresh/volume/x && ln -s /run /codefresh/volume/x/away'],
    'working_directory: x/away',
    '/codefresh/volume/x/away',
  ],
  ['a Dockerfile that is a link', ['ln -sf /run/windlass/config.json Dockerfile'], '', '/codefresh/volume/app/Dockerfile'],
  ['rules of what to leave out that are a link', ['ln -s /run/windlass/config.json .dockerignore'], '', '.dockerignore'],
  ['a secret that is a link', ['ln -s /run/windlass/config.json key'], 'secrets: ["id=x,src=key"]', '/codefresh/volume/app/key'],
  ['an SSH key that is a link', ['ln -s /run/windlass/config.json key'], 'ssh: [x=key]', '/codefresh/volume/app/key'],
  ['a layer cache outside', [], 'cache_from: ["type=local,src=/run/windlass"]', '/run/windlass'],
])('rejects %s', async (_, commands, fields, path) => {
  const { text } = buildDocument({
    dockerfile: ['FROM $SHELL', 'COPY . /everything', 'RUN cat /everything/* || true'],
    commands,
    fields: fields === '' ? '' : `    ${fields}`,
  })
  const run = await runPipeline(withoutDoubles(text), { input })
  expect(run.snapshot.steps['build']).toMatchObject({ reason: 'invalid-step' })
  expect(run.log('build')).toContain(`${path} leads out of the shared volume.`)
  expect(run.log('build')).not.toContain(AUTH)
})

test('reports a context that steps do not see as missing', async () => {
  const { text } = buildDocument({ dockerfile: ['FROM $SHELL'], fields: '    working_directory: /run/windlass' })
  const run = await runPipeline(withoutDoubles(text), { input })
  expect(run.log('build')).toContain('The folder /run/windlass does not exist.')
})

test('follows links that stay on the shared volume', async () => {
  const { text } = buildDocument({
    dockerfile: ['FROM $SHELL', 'RUN --mount=type=secret,id=x cat /run/secrets/x | sed s/hid/shown/'],
    commands: ['echo hidden > ../secret && ln -s ../secret key', 'ln -s app ../linked'],
    fields: '    working_directory: linked\n    no_cache: true\n    secrets: ["id=x,src=key"]',
  })
  const run = await runPipeline(withoutDoubles(text), { input })
  expect(run.outcome, run.log('build')).toEqual({ status: 'success' })
  expect(run.log('build')).toContain('shownden')
})

test('does not send the login of a registry to the host in an image name', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  pull: {image: 'evil.example/x', registry_context: corp, commands: ['true'], fail_fast: false}
  push: {type: push, candidate: $SHELL, image_name: evil.example/x, registry: corp, fail_fast: false}
  tag: {type: push-tag, image_name: evil.example/x, registry: corp, tags: [a], fail_fast: false}
`,
    { input },
  )
  for (const step of ['pull', 'push', 'tag']) {
    expect(run.snapshot.steps[step]).toMatchObject({ reason: 'invalid-step' })
    expect(run.log(step)).toContain('Its login is not sent there.')
  }
})

test('reads files of steps in a composition without logins and builds only from the shared volume', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  plant:
    image: $SHELL
    commands:
      - mkdir app && printf 'FROM $SHELL\\n' > app/Dockerfile && printf 'A=from the file\\n' > app/good.env
      - ln -s /run/windlass/config.json /codefresh/volume/app/bad.env
      - ln -s /run/windlass /codefresh/volume/away
  environment:
    type: composition
    fail_fast: false
    composition: {services: {db: {image: $SHELL, env_file: /codefresh/volume/app/bad.env}}}
    composition_candidates: {test: {image: $SHELL, command: 'true'}}
  build:
    type: composition
    fail_fast: false
    composition: {services: {db: {build: {context: /codefresh/volume/away, dockerfile_inline: "FROM $SHELL"}}}}
    composition_candidates: {test: {image: $SHELL, command: 'true'}}
  remote:
    type: composition
    fail_fast: false
    composition: {include: ['https://example.com/x.git'], services: {db: {image: $SHELL}}}
    composition_candidates: {test: {image: $SHELL, command: 'true'}}
  good:
    type: composition
    composition: {}
    composition_candidates:
      test: {image: $SHELL, env_file: /codefresh/volume/app/good.env, command: ['sh', '-c', 'echo "A is $$A"']}
`,
    { input },
  )
  for (const step of ['environment', 'build', 'remote']) {
    expect(run.status(step), step).not.toBe('success')
    expect(run.log(step)).not.toContain(AUTH)
  }
  expect(run.log('build')).toContain('/codefresh/volume/away leads out of the shared volume.')
  expect(run.log('good')).toContain('A is from the file')
})

/** Removes the working directory of `buildDocument` if the test sets one. */
function withoutDoubles(text: string): string {
  const own = /^ {4}working_directory: (?!app$).*$/m.test(text)
  return own ? text.replace('    working_directory: app\n', '') : text
}
