import type { Action } from '@windlass/plan'
import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, planOf } from '../../test/documents.ts'
import { PRECONFIGURED } from './facades.ts'

/** Returns the action of one step with these fields. */
function actionOf(...lines: string[]): Action | undefined {
  return planOf(oneStep(...lines)).steps.find(({ name }) => name === 'it')?.action
}

describe('freestyle', () => {
  test('accepts its environment as a list or a mapping', () => {
    expect(actionOf('image: x', 'environment: [A=1, B=]')).toMatchObject({ environment: ['A=1', 'B='] })
    expect(actionOf('image: x', 'environment: { A: 1, B: "x=y", C: 1.50, D: true, E: }')).toMatchObject({
      environment: ['A=1', 'B=x=y', 'C=1.50', 'D=true', 'E='],
    })
  })

  test('passes on the role for pulls, which needs a registry', () => {
    const role = 'role_arn: arn:aws:iam::123456789012:role/puller'
    expect(actionOf('image: x', 'registry_context: r', role)).toMatchObject({ roleArn: 'arn:aws:iam::123456789012:role/puller' })
    expect(messagesOf(oneStep('image: x', role))).toEqual(['"role_arn" is only allowed with "registry_context"'])
    expect(messagesOf(oneStep('image: x', 'registry_context: r', 'role_arn: arn:aws:iam::1:role/x'))).toEqual([
      '"role_arn" must have the form arn:aws:iam::<12 digits>:role/<name>. Current value: arn:aws:iam::1:role/x',
    ])
  })
})

test('obtain-oidc-id-token takes the audience as a field or as an argument', () => {
  const action = { kind: 'obtain-oidc-id-token', audience: '${{CLOUD}}' }
  expect(actionOf('type: obtain-oidc-id-token', "arguments: { AUDIENCE: '${{CLOUD}}' }")).toEqual(action)
  expect(actionOf('type: obtain-oidc-id-token', "AUDIENCE: '${{CLOUD}}'")).toEqual(action)
  expect(actionOf('type: obtain-oidc-id-token')).toEqual({ kind: 'obtain-oidc-id-token' })
  expect(messagesOf(oneStep('type: obtain-oidc-id-token', 'audience: x'))[0]).toContain('"audience"')
})

test('git-clone accepts exclude_blob as well as exclude_blobs', () => {
  expect(actionOf('type: git-clone', 'repo: a/b', 'exclude_blob: true')).toMatchObject({ excludeBlobs: true })
})

describe('build', () => {
  const build = (...lines: string[]): Action | undefined => actionOf('type: build', 'image_name: x', ...lines)
  const messages = (...lines: string[]): string[] => messagesOf(oneStep('type: build', 'image_name: x', ...lines))

  test('accepts BuildKit secrets as texts and as objects', () => {
    expect(build('secrets: ["id=npm,src=.npmrc", "type=file,source=/a/b,id=key", { id: x, src: y }]')).toMatchObject({
      buildkit: true,
      secrets: [
        { id: 'npm', src: '.npmrc' },
        { id: 'key', src: '/a/b' },
        { id: 'x', src: 'y' },
      ],
    })
    expect(messages('secrets: []')).toEqual(['"secrets" must contain at least 1 items'])
    expect(messages('secrets: [id=x]')).toEqual(['"secrets[0]" must have the form id=NAME,src=FILE. Current value: id=x'])
    expect(messages('secrets: [{ id: x }]')).toEqual(['"src" is required'])
  })

  test('accepts ssh as default, a list or a mapping', () => {
    expect(build('ssh: default')).toMatchObject({ buildkit: true, ssh: ['default'] })
    expect(build('ssh: [default, git=/keys/git]')).toMatchObject({ ssh: ['default', 'git=/keys/git'] })
    expect(build('ssh: { git: /keys/git }')).toMatchObject({ ssh: ['git=/keys/git'] })
    expect(messages('ssh: k')).toEqual(['"ssh" must be "default", an array or an object. Current value: k'])
    expect(messages('ssh: []')).toEqual(['"ssh" must contain at least 1 items'])
    expect(messages('ssh: {}')).toEqual(['"ssh" must contain at least 1 entries'])
  })

  test('accepts buildx as a flag, a variable, or builder settings with defaults', () => {
    const defaults = { qemu: { image: 'tonistiigi/binfmt:latest', platforms: 'all' }, builder: { driver: 'docker-container' } }
    expect(build('buildx: true')).toMatchObject({ buildx: true })
    expect(build("buildx: '${{X}}'")).toMatchObject({ buildx: '${{X}}' })
    expect(build('buildx: {}')).toMatchObject({ buildx: defaults })
    expect(build('buildx: { qemu: { platforms: arm64 }, builder: { driver_opts: network=host } }')).toMatchObject({
      buildx: { qemu: { ...defaults.qemu, platforms: 'arm64' }, builder: { ...defaults.builder, driverOpts: 'network=host' } },
    })
    expect(messages('buildx: maybe')).toEqual(['"buildx" must be a boolean or one variable. Current value: maybe'])
    expect(messages('buildx: []')).toEqual(['"buildx" must be a boolean or an object'])
    expect(messages('buildx: { qemu: { foo: x } }')).toEqual(['"foo" is not allowed'])
  })

  test('requires buildx for platform, and rejects disable_push with buildx (P058)', () => {
    expect(build('buildx: true', 'platform: linux/amd64,linux/arm64')).toMatchObject({ platform: 'linux/amd64,linux/arm64' })
    for (const buildx of ['buildx: {}', "buildx: '${{X}}'"]) expect(messages(buildx, 'platform: a')).toEqual([])
    for (const buildx of ['buildx: false', 'buildx: null', 'target: x'])
      expect(messages(buildx, 'platform: a')).toContain('"platform" is only allowed with "buildx"')
    expect(messages('buildx: true', 'platform: 123')).toEqual(['"platform" must be a string. Current value: 123'])
    expect(messages('buildx: true', 'disable_push: true')).toEqual(['"disable_push" cannot be true with "buildx"'])
    expect(messages('buildx: true', 'disable_push: false')).toEqual([])
  })

  test('accepts cache_to, squash, cosign and progress', () => {
    expect(
      build(
        'squash: true',
        'cache_to: ["type=registry,ref=r/c"]',
        'progress: tty',
        'cosign: { sign: true, options: { key: k } }',
      ),
    ).toMatchObject({
      squash: true,
      cacheTo: ['type=registry,ref=r/c'],
      buildkit: true,
      progress: 'tty',
      cosign: { sign: true, options: { key: 'k' } },
    })
    expect(messages('cosign: yes please')).toEqual(['"cosign" must be an object. Current value: yes please'])
    expect(messages('cosign: { options: {} }')).toEqual(['"sign" is required'])
    expect(messages('cosign: { sign: true, options: { a: { b: c } } }')).toEqual(['"a" must be a string'])
  })

  test('checks Google Cloud Build settings and warns that the Docker daemon builds the image', () => {
    expect(messages('provider: { type: cf }')).toEqual([])
    expect(
      messages('provider: { type: gcb, arguments: { cache: { repo: r }, machineType: N1_HIGHCPU_8, diskSizeGb: 10 } }'),
    ).toEqual(['"gcb" has no effect; the Docker daemon of the build builds the image'])
    expect(messages('provider: { type: gcb, arguments: { machine: x } }')).toEqual([
      '"gcb" has no effect; the Docker daemon of the build builds the image',
      '"cache" is required',
      '"machine" is not allowed. Did you mean "machineType"?',
    ])
    expect(messages('provider: { type: aws }')).toEqual(['"type" must be one of [cf, gcb]. Current value: aws'])
  })

  test('checks region, role and session length of ECR', () => {
    const role = 'role_arn: arn:aws:iam::123456789012:role/ci'
    expect(build('region: eu-west-1', role, 'aws_session_name: s', 'aws_duration_seconds: 900')).toMatchObject({
      aws: { region: 'eu-west-1', roleArn: 'arn:aws:iam::123456789012:role/ci', sessionName: 's', durationSeconds: 900 },
    })
    for (const region of [
      'us-gov-west-1',
      'eu-south-2',
      'ap-southeast-5',
      'mx-central-1',
      'il-central-1',
      'eusc-de-east-1',
      '"${{R}}"',
    ])
      expect(messages(`region: ${region}`)).toEqual([])
    expect(messages('region: europe')).toEqual(['"region" must be an AWS region such as eu-central-1. Current value: europe'])
    expect(messages('aws_duration_seconds: 900')).toEqual(['"aws_duration_seconds" is only allowed with "role_arn"'])
    for (const seconds of ['899', '3601'])
      expect(messages(role, `aws_duration_seconds: ${seconds}`)).toEqual([
        `"aws_duration_seconds" must be between 900 and 3600. Current value: ${seconds}`,
      ])
  })
})

describe('push and push-tag', () => {
  test('check the provider and pass on ECR keys', () => {
    const messages = (...lines: string[]): string[] => messagesOf(oneStep('type: push', 'candidate: x', ...lines))
    for (const provider of ['docker', 'standard', 'ecr']) expect(messages(`provider: ${provider}`)).toEqual([])
    for (const provider of ['xdockery', 'gcr', 'standardized'])
      expect(messages(`provider: ${provider}`)[0]).toContain('"provider" must be one of [docker, standard, ecr]')
    expect(
      actionOf(
        'type: push',
        'candidate: x',
        'provider: ecr',
        'accessKeyId: k',
        'secretAccessKey: s',
        'region: eu-west-1',
        'credentials: { username: u, password: p }',
      ),
    ).toEqual({
      kind: 'push',
      candidate: 'x',
      tags: ['latest'],
      aws: { region: 'eu-west-1', accessKeyId: 'k', secretAccessKey: 's' },
    })
  })

  test('push-tag adds tags to an image', () => {
    expect(actionOf('type: push-tag', 'image_name: me/app:1', 'tags: [stable, "1.0"]')).toEqual({
      kind: 'push-tag',
      imageName: 'me/app:1',
      tags: ['stable', '1.0'],
    })
    expect(messagesOf(oneStep('type: push-tag'))).toEqual(['"image_name" is required', '"tags" is required'])
    expect(messagesOf(oneStep('type: push-tag', 'image_name: x', 'tags: latest'))).toEqual([
      '"tags" must be an array. Current value: latest',
    ])
  })
})

describe('composition and launch-composition', () => {
  test('accept a document, also an empty one, or a path', () => {
    const candidates = 'composition_candidates: { test: { image: t, command: "true" } }'
    const expected = {
      kind: 'composition',
      candidates: { test: { image: 't', command: 'true' } },
      variables: [],
      addVolume: false,
    }
    expect(
      actionOf('type: composition', 'composition: { version: "3", services: { db: { image: d } } }', candidates),
    ).toMatchObject({
      ...expected,
      compose: { inline: { version: '3', services: { db: { image: 'd' } } } },
    })
    expect(actionOf('type: composition', 'composition: {}', candidates)).toMatchObject({ ...expected, compose: { inline: {} } })
    expect(actionOf('type: composition', 'composition: ./compose.yml', candidates)).toMatchObject({
      ...expected,
      compose: { path: './compose.yml' },
    })
  })

  test('require candidates, working_dir in them, and registry_contexts', () => {
    const messages = (...lines: string[]): string[] => messagesOf(oneStep('type: composition', ...lines))
    expect(messages()).toEqual(['"composition" is required', '"composition_candidates" is required'])
    expect(messages('composition: {}', 'composition_candidates: {}')).toEqual([
      '"composition_candidates" must contain at least 1 entries',
    ])
    expect(messages('composition: {}', 'composition_candidates: { a: { working_directory: /x } }')).toEqual([
      '"working_directory" is not allowed. Did you mean "working_dir"?',
    ])
    expect(
      messages('composition: c', 'composition_candidates: { a: {} }', 'registry_context: r', 'composition_variables: [A]'),
    ).toEqual([
      `'registry_context' not allowed. Did you mean "registry_contexts"?`,
      '"composition_variables[0]" must have the form NAME=VALUE. Current value: A',
    ])
    expect(messages('composition: 5', 'composition_candidates: { a: {} }')).toEqual([
      '"composition" must be an object or a string. Current value: 5',
    ])
  })

  test('launch-composition has a name and an entry point but no candidates', () => {
    expect(
      actionOf(
        'type: launch-composition',
        'composition: c.yml',
        'environment_name: preview',
        'entry_point: web',
        'composition_variables: [A=1]',
      ),
    ).toEqual({
      kind: 'launch-composition',
      compose: { path: 'c.yml' },
      variables: ['A=1'],
      registryContexts: [],
      environmentName: 'preview',
      entryPoint: 'web',
    })
  })
})

describe('deploy', () => {
  const messages = (...lines: string[]): string[] => messagesOf(oneStep('type: deploy', ...lines))
  const place = ['kind: kubernetes', 'cluster: prod', 'namespace: shop']

  test('deploys an image of a service, or a manifest', () => {
    expect(
      actionOf('type: deploy', ...place, 'service: web', 'candidate: { image: "${{b}}", registry: hub }', "timeout: '300'"),
    ).toEqual({
      kind: 'deploy',
      cluster: 'prod',
      namespace: 'shop',
      target: { service: 'web', candidate: { image: '${{b}}', registry: 'hub' } },
      rolloutTimeout: '300',
    })
    expect(actionOf('type: deploy', ...place, 'file_path: ./k8s.yml', 'timeout: 60')).toMatchObject({
      target: { filePath: './k8s.yml' },
      rolloutTimeout: '60',
    })
  })

  test('requires exactly one target and a timeout in seconds', () => {
    expect(messages('service: x')).toEqual(['"kind" is required', '"cluster" is required', '"namespace" is required'])
    expect(messages(...place)).toEqual(['"service" is required'])
    expect(messages(...place, 'service: x', 'file_path: y')).toEqual(['"service" conflict with forbidden peer "file_path"'])
    expect(messages(...place, 'service: x', 'candidate: { image: y }')).toEqual(['"registry" is required'])
    expect(messages(...place, 'service: x', 'timeout: 5m')).toEqual(['"timeout" must be a number of seconds. Current value: 5m'])
  })
})

describe('tests with services (P189)', () => {
  const test1 = 'test: { image: t, command: "echo $HOME ${{X}}" }'
  const candidate = { image: 't', entrypoint: ['sh', '-ec'], command: ['echo $$HOME ${{X}}'], working_dir: '${{CF_VOLUME_PATH}}' }

  test('travis becomes a composition of its services', () => {
    expect(
      actionOf('type: travis', 'services: { db: { image: d, ports: [5432], environment: { DB_USER: me } } }', test1),
    ).toEqual({
      kind: 'composition',
      compose: { inline: { services: { db: { image: 'd', expose: ['5432'], environment: ['DB_USER=me'] } } } },
      candidates: { test: candidate },
      variables: [],
      registryContexts: [],
      addVolume: true,
    })
  })

  test('simple_travis and integration-test have twelve preconfigured services', () => {
    expect(Object.keys(PRECONFIGURED)).toHaveLength(12)
    expect(actionOf('type: simple_travis', 'services: [redis]', test1)).toMatchObject({
      compose: { inline: { services: { redis: { image: PRECONFIGURED['redis']?.image, expose: ['6379'] } } } },
    })
    expect(
      actionOf(
        'type: integration-test',
        'preconfigured_services: [memcached]',
        'services: { own: { image: o } }',
        'test: { image: t, commands: [a, b] }',
      ),
    ).toMatchObject({
      compose: { inline: { services: { memcached: { image: PRECONFIGURED['memcached']?.image }, own: { image: 'o' } } } },
      candidates: { test: { command: ['a\nb'] } },
    })
  })

  test('reports problems of their fields', () => {
    const messages = (...lines: string[]): string[] => messagesOf(oneStep(...lines))
    expect(messages('type: travis')).toEqual(['"services" is required', '"test" is required'])
    expect(messages('type: simple_travis', 'services: [oracle]', test1)[0]).toContain(
      '"services[0]" must be one of [mysql, postgresql',
    )
    expect(messages('type: integration-test', 'test: { image: t, commands: [] }')).toEqual([
      '"commands" must contain at least 1 items',
    ])
    expect(messages('type: integration-test', 'test: { image: t, commands: [" "] }')).toEqual([
      '"commands[0]" is not allowed to be empty',
    ])
    const service = (fields: string): string[] => messages('type: travis', `services: { db: ${fields} }`, test1)
    expect(service('{ image: "" }')).toEqual(['"image" is not allowed to be empty'])
    expect(service('{ image: d, ports: 80 }')).toEqual(['"ports" must be an array. Current value: 80'])
    expect(service('{ image: d, ports: [], environment: [] }')).toEqual([])
    expect(service('{ image: d, environment: { DB: 1 } }')).toEqual(['"DB" must be a string. Current value: 1'])
    expect(service('{ image: d, environment: [NAME] }')).toEqual([
      '"environment[0]" must have the form NAME=VALUE. Current value: NAME',
    ])
    expect(service('{ image: d, environment: [A=1] }')[0]).toContain('must have at least two characters')
    expect(service('{ image: d, environment: { 1A: x } }')[0]).toContain('"1A" must have at least two characters')
  })
})
