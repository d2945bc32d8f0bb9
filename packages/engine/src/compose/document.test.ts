import { expect, test } from 'vitest'
import { finishDocument, toDocument, type FinishOptions } from './document.ts'
import { ComposeDocument } from './schema.ts'

const options: FinishOptions = {
  labels: { 'windlass.io/build': 'b' },
  images: new Map([
    ['db', 'sha256:1'],
    ['test', 'sha256:2'],
  ]),
  addVolume: false,
  volumeName: 'shared',
  mountpoint: '/var/lib/docker/volumes/shared/_data',
  socketPath: '/var/run/docker.sock',
  network: { kind: 'own' },
  networkOptions: {},
  moreNetworks: [],
  candidates: ['test'],
  publish: true,
  keepLogs: false,
}

function finish(services: object, change: Partial<FinishOptions> = {}, rest: object = {}) {
  const { document, ...notes } = finishDocument(ComposeDocument.parse({ services, ...rest }), { ...options, ...change })
  return { ...JSON.parse(JSON.stringify(document)), ...notes }
}

test('labels every container, network and volume and uses images of the daemon', () => {
  const { services, networks, volumes } = finish(
    {
      db: { image: 'postgres:17', labels: { mine: 'yes' }, tty: true, networks: { back: null } },
      test: { image: 'app', restart: 'always' },
    },
    {},
    { networks: { back: { name: 'fixed' }, theirs: { external: true, name: 'x' } }, volumes: { data: { name: 'data' } } },
  )
  expect(services.db).toMatchObject({
    image: 'sha256:1',
    pull_policy: 'never',
    tty: false,
    labels: { mine: 'yes', 'windlass.io/build': 'b' },
    logging: { driver: 'none' },
    networks: { back: null },
  })
  expect(services.test).toMatchObject({ restart: 'no', networks: { default: null } })
  expect(networks).toEqual({
    default: { driver_opts: {}, labels: { 'windlass.io/build': 'b' } },
    back: { driver_opts: {}, labels: { 'windlass.io/build': 'b' } },
    theirs: { external: true, name: 'x' },
  })
  expect(volumes).toEqual({
    data: { driver_opts: {}, labels: { 'windlass.io/build': 'b' } },
    shared: { external: true, name: 'shared' },
  })
})

test('rejects mounts outside of the shared volume (P070)', () => {
  const volumes = [
    { type: 'bind', source: '/codefresh/volume/app/data', target: '/data', read_only: true },
    { type: 'bind', source: '/codefresh/volume', target: '/all' },
    { type: 'bind', source: '/var/run/docker.sock', target: '/var/run/docker.sock' },
    { type: 'volume', target: '/anonymous' },
  ]
  const good = finish({ test: { image: 'app', volumes } }, { addVolume: true })
  expect(good.problems).toEqual([])
  expect(good.sources).toEqual(['app/data'])
  expect(good.services.test.volumes).toEqual([
    { type: 'bind', source: '/var/lib/docker/volumes/shared/_data/app/data', target: '/data', read_only: true },
    { type: 'volume', source: 'shared', target: '/all' },
    { type: 'bind', source: '/var/run/docker.sock', target: '/var/run/docker.sock' },
    { type: 'volume', target: '/anonymous' },
    { type: 'volume', source: 'shared', target: '/codefresh/volume' },
  ])
  const bad = finish({ test: { image: 'app', volumes: [{ type: 'bind', source: '/codefresh/volumes', target: '/x' }] } })
  expect(bad.problems).toEqual([
    'Service "test" mounts /codefresh/volumes, but only what is below /codefresh/volume can be mounted.',
  ])
})

test('rejects access to the daemon for services if steps have none (P183)', () => {
  const services = {
    test: {
      image: 'app',
      privileged: true,
      pid: 'host',
      network_mode: 'host',
      devices: ['/dev/sda'],
      volumes: [{ type: 'bind', source: '/var/run/docker.sock', target: '/s' }],
    },
  }
  expect(finish(services).problems).toEqual([])
  expect(finish(services, { socketPath: undefined }).problems.toSorted()).toEqual(
    [
      'Service "test" wants privileged, which this runtime does not allow.',
      'Service "test" wants pid: host, which this runtime does not allow.',
      'Service "test" wants network_mode: host, which this runtime does not allow.',
      'Service "test" wants devices, which this runtime does not allow.',
      'Service "test" mounts the socket of the Docker daemon, which this runtime does not allow.',
    ].toSorted(),
  )
})

test('mounts secret files, which compose would look for on another machine', () => {
  const { services, secrets, sources } = finish(
    { test: { image: 'app', secrets: [{ source: 'key' }, { source: 'value', target: 'v' }] } },
    {},
    { secrets: { key: { file: '/codefresh/volume/key.txt' }, value: { environment: 'X' } } },
  )
  expect(services.test.secrets).toEqual([{ source: 'value', target: 'v' }])
  expect(services.test.volumes).toEqual([
    { type: 'bind', source: '/var/lib/docker/volumes/shared/_data/key.txt', target: '/run/secrets/key', read_only: true },
  ])
  expect(secrets).toEqual({ value: { environment: 'X' } })
  expect(sources).toEqual(['key.txt'])
})

test('removes network settings from services that share a network namespace (P115)', () => {
  const service = {
    image: 'postgres',
    ports: [{ target: 5432 }],
    hostname: 'db',
    networks: { default: null },
    extra_hosts: ['a=1.2.3.4'],
  }
  const { services } = finish({ db: service }, { network: { kind: 'namespace', namespace: 'container:1' }, publish: false })
  expect(services.db.network_mode).toBe('container:1')
  for (const key of ['ports', 'hostname', 'networks', 'extra_hosts']) expect(services.db).not.toHaveProperty(key)
})

test('turns container_name into a network alias so that builds cannot conflict', () => {
  const { services, networks } = finish(
    { db: { image: 'postgres', container_name: 'database', networks: { back: { aliases: ['pg'] } } } },
    { network: { kind: 'network', name: 'net' }, moreNetworks: ['outer'] },
    { networks: { back: null } },
  )
  expect(services.db).not.toHaveProperty('container_name')
  expect(services.db.networks).toEqual({
    default: { aliases: ['database'] },
    back: { aliases: ['pg', 'database'] },
    outer: null,
  })
  expect(networks.default).toEqual({ external: true, name: 'net' })
  expect(networks.outer).toEqual({ external: true, name: 'outer' })
})

test('drops the version key and adds empty services', () => {
  expect(JSON.parse(JSON.stringify(toDocument({ version: '2.1', services: { a: { image: 'x' } }, networks: {} })))).toEqual({
    services: { a: { image: 'x' } },
    networks: {},
  })
  expect(JSON.parse(JSON.stringify(toDocument({})))).toEqual({ services: {} })
})
