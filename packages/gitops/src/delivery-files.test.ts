import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { deliveryFiles, type DeliveryPlan } from './delivery-files.ts'
import { deliveryObjectsIn, deliveryPipelinesIn } from './delivery-sensors.ts'

const PLAN: DeliveryPlan = {
  name: 'shop',
  namespace: 'argocd',
  forge: 'gitea',
  repo: 'acme/shop.js',
  clone: 'https://git.test/acme/shop.js.git',
  branch: 'release/1.0',
  events: ['push', 'pull-request'],
  run: { image: 'node:24', script: 'npm test' },
  serviceAccount: 'starter',
}

/** What the tests look at. */
interface Spec {
  readonly template?: object
  readonly dependencies: readonly { readonly name: string; readonly filters: { readonly data: readonly Filter[] } }[]
  readonly triggers: readonly {
    readonly template: {
      readonly name: string
      readonly conditions: string
      readonly argoWorkflow: { readonly parameters: object[] }
    }
  }[]
}
interface Filter {
  readonly path: string
  readonly comparator?: string
  readonly value: readonly [string]
}

const specOf = (plan: DeliveryPlan): Spec => parse(deliveryFiles(plan).get(`${plan.name}.sensor.yaml`) ?? '').spec

test('each file has one object of the pipeline, and the sensor has a trigger for each event', () => {
  const files = deliveryFiles(PLAN)
  expect([...files].map(([file, text]) => [file, deliveryObjectsIn(text)])).toEqual([
    ['shop.event-source.yaml', ['EventSource shop']],
    ['shop.sensor.yaml', ['Sensor shop']],
    ['shop.workflow-template.yaml', ['WorkflowTemplate shop']],
  ])
  const common = { sensor: 'shop', events: ['shop/git'], workflowTemplate: 'shop' }
  expect(deliveryPipelinesIn([...files.values()].join('---\n'))).toEqual([
    { name: 'shop-push', ...common },
    { name: 'shop-pull-request', ...common },
  ])
  expect(specOf(PLAN).template).toEqual({ serviceAccountName: 'starter' })
  const bound = deliveryFiles({ ...PLAN, run: { workflowTemplate: 'build' }, serviceAccount: undefined })
  expect([...bound.keys()]).toEqual(['shop.event-source.yaml', 'shop.sensor.yaml'])
  expect(deliveryPipelinesIn([...bound.values()].join('---\n'))[0]?.workflowTemplate).toBe('build')
  const deep = `${'['.repeat(20_000)}Sensor${']'.repeat(20_000)}`
  for (const text of ['a: [', 'kind: Sensor\n', 'Sensor', deep, `${files.get('shop.sensor.yaml') ?? ''}---\na: [`])
    expect([text.length, deliveryPipelinesIn(text)]).toEqual([text.length, []])
})

test('the calls of a forge are checked, and only the wanted branch of the repository itself starts something', () => {
  const source = (plan: DeliveryPlan): Record<string, object> =>
    parse(deliveryFiles(plan).get('shop.event-source.yaml') ?? '').spec
  const secret = { name: 'shop-webhook', key: 'token' }
  expect(source(PLAN)).toEqual({
    service: { ports: [{ port: 80, targetPort: 12_000 }] },
    webhook: { git: { port: '12000', endpoint: '/webhooks/argocd/shop', method: 'POST', authSecret: secret } },
  })
  const github = { ...PLAN, forge: 'github', events: ['push'] } as const
  expect(source(github)['github']).toMatchObject({
    git: { repositories: [{ owner: 'acme', names: ['shop.js'] }], events: ['push'], webhookSecret: secret },
  })
  const filters = (event: string, plan = PLAN): readonly string[] => {
    const found = specOf(plan).dependencies.find(({ name }) => name === event)
    return (found?.filters.data ?? []).map(({ path, comparator = '=', value }) => `${path} ${comparator} ${value[0]}`)
  }
  expect(filters('push')).toEqual([
    'header.X-Gitea-Event.0 = ^push$',
    String.raw`body.repository.full_name = ^acme/shop\.js$`,
    String.raw`body.ref = ^refs/heads/release/1\.0$`,
    'body.after != ^0+$',
  ])
  expect(filters('pull-request')).toEqual([
    'header.X-Gitea-Event.0 = ^pull_request$',
    'body.action = ^(opened|reopened|synchronize|synchronized)$',
    String.raw`body.pull_request.head.repo.full_name = ^acme/shop\.js$`,
    String.raw`body.pull_request.base.ref = ^release/1\.0$`,
  ])
  expect(filters('push', { ...github, branch: undefined })).toEqual([
    'headers.X-Github-Event.0 = ^push$',
    String.raw`body.repository.full_name = ^acme/shop\.js$`,
    'body.ref = ^refs/heads/',
    'body.after != ^0+$',
  ])
})

test('the script gets the branch as a variable, and a private repository its Secret', () => {
  const run = { image: 'node:24', script: 'npm ci\nnpm test', gitSecret: 'git-login' }
  const template = parse(deliveryFiles({ ...PLAN, run }).get('shop.workflow-template.yaml') ?? '')
  expect(template.spec.templates[0]).toMatchObject({
    inputs: {
      artifacts: [
        {
          path: '/workspace',
          git: {
            repo: '{{workflow.parameters.repository}}',
            revision: '{{workflow.parameters.revision}}',
            usernameSecret: { name: 'git-login', key: 'username' },
            passwordSecret: { name: 'git-login', key: 'password' },
          },
        },
      ],
    },
    container: {
      image: 'node:24',
      command: ['sh', '-ec'],
      args: ['npm ci\nnpm test'],
      env: [
        { name: 'BRANCH', value: '{{workflow.parameters.branch}}' },
        { name: 'REVISION', value: '{{workflow.parameters.revision}}' },
      ],
    },
  })
  const [push] = specOf(PLAN).triggers
  expect(push?.template.argoWorkflow.parameters).toEqual([
    {
      src: { dependencyName: 'push', dataTemplate: '{{ trimPrefix "refs/heads/" .Input.body.ref }}' },
      dest: 'spec.arguments.parameters.1.value',
    },
    { src: { dependencyName: 'push', dataKey: 'body.after' }, dest: 'spec.arguments.parameters.2.value' },
  ])
})
