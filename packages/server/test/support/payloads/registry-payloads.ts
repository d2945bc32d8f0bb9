/** Bodies of webhook calls of registries, with the fields that the documentation of each registry gives them. */
import type { Registry } from '@windlass/protocol'

type Json = Readonly<Record<string, unknown>>

const DIGEST = `sha256:${'ab'.repeat(32)}`
const pubsub = (event: Json): Json => ({
  message: {
    data: Buffer.from(JSON.stringify(event)).toString('base64'),
    messageId: '111',
    publishTime: '2026-01-02T03:04:05.000Z',
    attributes: {},
  },
  subscription: 'projects/acme/subscriptions/gcr',
})

/** A push of the image `team/app` with the tag `1.2.3`. */
export const IMAGE_PUSHES: Readonly<Record<Registry, Json>> = {
  dockerhub: {
    callback_url: 'https://registry.hub.docker.test/u/team/app/hook/2141b5bi5i5b02bec211i4eeih0242eg11000a/',
    push_data: { pushed_at: 1_767_323_045, pusher: 'ann', tag: '1.2.3' },
    repository: { name: 'app', namespace: 'team', repo_name: 'team/app', is_private: true, owner: 'team', status: 'Active' },
  },
  quay: {
    name: 'app',
    repository: 'team/app',
    namespace: 'team',
    docker_url: 'quay.io/team/app',
    homepage: 'https://quay.io/repository/team/app',
    updated_tags: ['1.2.3'],
  },
  acr: {
    id: 'cb8c3971-9adc-488b-bdd8-43cbb4974ff5',
    timestamp: '2026-01-02T03:04:05.123Z',
    action: 'push',
    target: {
      mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
      size: 524,
      digest: DIGEST,
      length: 524,
      repository: 'team/app',
      tag: '1.2.3',
    },
    request: { id: 'a9f4', host: 'acme.azurecr.io', method: 'PUT', useragent: 'docker/28' },
  },
  ecr: {
    version: '0',
    id: '13cde686-328b-6117-af20-0e5566167482',
    'detail-type': 'ECR Image Action',
    source: 'aws.ecr',
    account: '123456789012',
    time: '2026-01-02T03:04:05Z',
    region: 'eu-central-1',
    resources: [],
    detail: {
      result: 'SUCCESS',
      'repository-name': 'team/app',
      'image-digest': DIGEST,
      'action-type': 'PUSH',
      'image-tag': '1.2.3',
    },
  },
  gcr: pubsub({
    action: 'INSERT',
    digest: `eu.gcr.io/team/app@${DIGEST}`,
    tag: 'eu.gcr.io/team/app:1.2.3',
  }),
  harbor: {
    type: 'PUSH_ARTIFACT',
    occur_at: 1_767_323_045,
    operator: 'ann',
    event_data: {
      resources: [{ digest: DIGEST, tag: '1.2.3', resource_url: 'harbor.test/team/app:1.2.3' }],
      repository: {
        date_created: 1_767_323_000,
        name: 'app',
        namespace: 'team',
        repo_full_name: 'team/app',
        repo_type: 'private',
      },
    },
  },
  artifactory: {
    domain: 'docker',
    event_type: 'pushed',
    data: {
      image_name: 'team/app',
      name: 'manifest.json',
      path: 'team/app/1.2.3/manifest.json',
      repo_key: 'docker-local',
      sha256: 'ab'.repeat(32),
      size: 953,
      tag: '1.2.3',
    },
    subscription_key: 'hook',
    jpd_origin: 'https://acme.jfrog.test',
    source: 'jfrog/ann',
  },
  distribution: {
    events: [
      {
        id: 'layer',
        timestamp: '2026-01-02T03:04:05Z',
        action: 'push',
        target: { mediaType: 'application/octet-stream', digest: DIGEST, repository: 'team/app' },
      },
      {
        id: 'manifest',
        timestamp: '2026-01-02T03:04:05Z',
        action: 'push',
        target: { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: DIGEST, repository: 'team/app', tag: '1.2.3' },
        request: { host: 'registry.test', method: 'PUT' },
        actor: { name: 'ann' },
      },
    ],
  },
  generic: { id: 'call-1', image: 'team/app', tag: '1.2.3', digest: DIGEST, pusher: 'ann' },
}

/** A push of the chart `app` with the version `1.2.3-rc.1`, of the registries that report charts. */
export const CHART_PUSHES: Readonly<Partial<Record<Registry, Json>>> = {
  acr: {
    id: '6356e9e0-627f-4fed-xxxx-d9059b5143ac',
    timestamp: '2026-01-02T03:04:05Z',
    action: 'chart_push',
    target: {
      mediaType: 'application/vnd.acr.helm.chart',
      digest: DIGEST,
      repository: 'repo',
      tag: 'app-1.2.3-rc.1.tgz',
      name: 'app',
      version: '1.2.3-rc.1',
    },
  },
  harbor: {
    type: 'UPLOAD_CHART',
    occur_at: 1_767_323_045,
    operator: 'ann',
    event_data: {
      resources: [{ tag: '1.2.3-rc.1', resource_url: 'https://harbor.test/chartrepo/team/charts/app-1.2.3-rc.1.tgz' }],
      repository: { name: 'app', namespace: 'team', repo_full_name: 'team/app' },
    },
  },
  artifactory: {
    domain: 'artifact',
    event_type: 'deployed',
    data: { name: 'app-1.2.3-rc.1.tgz', path: 'app-1.2.3-rc.1.tgz', repo_key: 'helm-local', sha256: 'ab'.repeat(32), size: 1234 },
    source: 'jfrog/ann',
  },
  generic: { chart: 'app', version: '1.2.3-rc.1' },
}

/** Calls that start no builds. */
export const OTHER_CALLS: readonly { readonly registry: Registry; readonly body: Json }[] = [
  { registry: 'acr', body: { id: 'x', action: 'ping' } },
  { registry: 'acr', body: { id: 'x', action: 'delete', target: { repository: 'team/app', tag: '1' } } },
  { registry: 'ecr', body: { 'detail-type': 'ECR Image Action', detail: { 'action-type': 'DELETE', result: 'SUCCESS' } } },
  { registry: 'ecr', body: { 'detail-type': 'ECR Image Scan', detail: {} } },
  { registry: 'gcr', body: pubsub({ action: 'DELETE', tag: 'eu.gcr.io/team/app:1.2.3' }) },
  { registry: 'harbor', body: { type: 'SCANNING_COMPLETED', event_data: {} } },
  { registry: 'artifactory', body: { domain: 'artifact', event_type: 'deployed', data: { name: 'app.jar' } } },
  { registry: 'artifactory', body: { domain: 'docker', event_type: 'deleted', data: {} } },
  { registry: 'distribution', body: { events: [{ action: 'pull', target: { repository: 'team/app', tag: '1' } }] } },
]
