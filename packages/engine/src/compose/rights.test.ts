/** Tests every key of the compose specification, with a privileged value if there is one. A key that is missing here fails the test. */
import { expect, test } from 'vitest'
import { checkRights } from './rights.ts'
import { ComposeDocument } from './schema.ts'

function problems(document: object, userAccess = false): string[] {
  return checkRights(ComposeDocument.parse(document), { userAccess, volumeName: 'shared' })
}

const service = (fields: object): string[] => problems({ services: { app: { image: 'app', ...fields } } })
const build = (fields: object): string[] => service({ build: { context: '/codefresh/volume/app', ...fields } })

/** Key of a service -> a rejected value. */
const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['annotations', { 'run.oci.hooks': 'x' }],
  ['blkio_config', { device_read_bps: [{ path: '/dev/sda', rate: '1mb' }] }],
  ['cap_add', ['SYS_ADMIN']],
  ['cgroup', 'host'],
  ['cgroup_parent', '/'],
  ['cpu_rt_period', '1000'],
  ['cpu_rt_runtime', '950'],
  ['credential_spec', { file: 'c.json' }],
  ['deploy', { resources: { reservations: { devices: [{ capabilities: ['gpu'] }] } } }],
  ['deploy', { resources: { reservations: { generic_resources: [{}] } } }],
  ['device_cgroup_rules', ['a *:* rwm']],
  ['devices', ['/dev/sda']],
  ['extends', { file: '/run/windlass/x', service: 'x' }],
  ['external_links', ['another-build']],
  ['gpus', 'all'],
  ['ipc', 'host'],
  ['ipc', 'container:other'],
  ['isolation', 'process'],
  ['logging', { driver: 'syslog', options: { 'syslog-address': 'tcp://10.0.0.1' } }],
  ['models', ['x']],
  ['network_mode', 'host'],
  ['network_mode', 'container:other'],
  ['network_mode', 'another-network'],
  ['oom_kill_disable', true],
  ['oom_score_adj', -1000],
  ['pid', 'host'],
  ['pid', 'container:other'],
  ['post_start', [{ command: 'x', privileged: true }]],
  ['pre_stop', [{ command: 'x', privileged: true }]],
  ['privileged', true],
  ['privileged', 'true'],
  ['provider', { type: 'sh' }],
  ['runtime', 'runc-with-hooks'],
  ['security_opt', ['apparmor=unconfined']],
  ['storage_opt', { size: '1T' }],
  ['use_api_socket', true],
  ['userns_mode', 'host'],
  ['uts', 'host'],
  ['volumes', [{ type: 'npipe', source: 'x', target: '/x' }]],
  ['volumes', [{ type: 'cluster', source: 'x', target: '/x' }]],
  ['volumes', [{ type: 'image', source: 'secret/image', target: '/x' }]],
  ['volumes_from', ['container:other']],
  ['a_key_of_tomorrow', 'x'],
  ['constructor', 'x'],
]

/** Keys that affect only the containers of the composition, with typical values. */
const HARMLESS: Readonly<Record<string, unknown>> = {
  attach: false,
  build: { context: '/codefresh/volume/app', dockerfile: 'Dockerfile', args: { A: '1' }, target: 'x', network: 'none' },
  cap_drop: ['ALL'],
  cgroup: 'private',
  command: ['x'],
  configs: [{ source: 'c' }],
  container_name: 'x',
  cpu_count: 1,
  cpu_percent: 50,
  cpu_period: '1',
  cpu_quota: '1',
  cpu_shares: 1,
  cpus: 1,
  cpuset: '0',
  depends_on: { db: { condition: 'service_started' } },
  deploy: { replicas: 2, resources: { limits: { cpus: '1', memory: '1G', pids: 10 }, reservations: { memory: '1G' } } },
  develop: { watch: [] },
  dns: ['10.0.0.2'],
  dns_opt: ['ndots:1'],
  dns_search: ['example.com'],
  domainname: 'x',
  entrypoint: null,
  environment: { A: '1' },
  expose: ['80'],
  extra_hosts: ['a=10.0.0.1'],
  group_add: ['1000'],
  healthcheck: { test: ['CMD', 'true'] },
  hostname: 'x',
  image: 'x',
  init: true,
  ipc: 'service:db',
  labels: { a: 'b' },
  links: ['db'],
  logging: { driver: 'json-file', options: { 'max-size': '1m' } },
  mac_address: '02:42:ac:11:00:02',
  mem_limit: '1G',
  mem_reservation: '1G',
  mem_swappiness: '0',
  memswap_limit: '1G',
  network_mode: 'service:db',
  networks: { back: null },
  pid: 'service:db',
  pids_limit: 10,
  platform: 'linux/amd64',
  ports: [{ target: 80 }],
  post_start: [{ command: 'x', user: 'root' }],
  pre_stop: [{ command: 'x' }],
  privileged: false,
  profiles: ['x'],
  provider: null,
  pull_policy: 'always',
  pull_refresh_after: '1h',
  read_only: true,
  restart: 'always',
  scale: 1,
  secrets: [{ source: 's' }],
  shm_size: '1G',
  stdin_open: true,
  stop_grace_period: '1s',
  stop_signal: 'SIGINT',
  sysctls: { 'net.core.somaxconn': '1024' },
  tmpfs: ['/tmp'],
  tty: true,
  ulimits: { nofile: 1024 },
  use_api_socket: false,
  user: '1000',
  volumes: [
    { type: 'bind', source: '/codefresh/volume/x', target: '/x' },
    { type: 'volume', target: '/y' },
  ],
  working_dir: '/x',
}

/** The keys of a service in the compose specification that `docker compose config` keeps. */
const SPECIFICATION =
  'annotations attach build blkio_config cap_add cap_drop cgroup cgroup_parent command configs container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy develop device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint environment expose extends external_links extra_hosts gpus group_add healthcheck hostname image init ipc isolation labels links logging mac_address mem_limit mem_reservation mem_swappiness memswap_limit models network_mode networks oom_kill_disable oom_score_adj pid pids_limit platform ports post_start pre_stop privileged profiles provider pull_policy pull_refresh_after read_only restart runtime scale secrets security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket user userns_mode uts volumes volumes_from working_dir'.split(
    ' ',
  )

test('covers every key of a service (P183)', () => {
  const covered = new Set([...HOSTILE.map(([key]) => key), ...Object.keys(HARMLESS)])
  expect(SPECIFICATION.filter((key) => !covered.has(key))).toEqual([])
})

test.each(HOSTILE)('rejects %s of a service without access to the daemon: %j (P183)', (key, value) => {
  const found = service({ [key]: value })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(
    new RegExp(`^Service "app" wants ${key}.*, which (this runtime does not allow|builds cannot have)\\.$`),
  )
})

test.each(Object.entries(HARMLESS))('allows %s of a service without access to the daemon: %j (P183)', (key, value) => {
  expect(service({ [key]: value })).toEqual([])
})

test.each([
  ['entitlements', ['security.insecure']],
  ['privileged', true],
  ['network', 'host'],
  ['network', 'container:other'],
  ['ssh', ['default']],
  ['isolation', 'process'],
  ['tags', ['node:20']],
  ['a_key_of_tomorrow', 'x'],
])('rejects %s of a composition build without access to the daemon: %j (P183)', (key, value) => {
  expect(build({ [key]: value })).toEqual([expect.stringContaining(`wants build.${key}`)])
})

test.each([
  [{ context: '/run/windlass' }, '/run/windlass'],
  [{ context: '/' }, '/'],
  [{ dockerfile: '/run/windlass/config.json' }, '/run/windlass/config.json'],
  [{ additional_contexts: { more: '/run/windlass' } }, '/run/windlass'],
  [{ cache_from: ['type=local,src=/run/windlass'] }, '/run/windlass'],
  [{ cache_to: ['type=local,dest=/run/windlass'] }, '/run/windlass'],
  [{ ssh: ['default=/run/windlass/key'] }, '/run/windlass/key'],
])('rejects a composition build from outside of the shared volume, even with access to the daemon: %j', (fields, path) => {
  const document = { services: { app: { build: { context: '/codefresh/volume/app', ...fields } } } }
  expect(problems(document, true)).toContainEqual(
    `Service "app" wants to build from ${path}, which is not below /codefresh/volume.`,
  )
})

test.each([
  ['provider', { type: 'sh' }],
  ['use_api_socket', true],
  ['models', ['x']],
])('rejects %s in every composition', (key, value) => {
  expect(problems({ services: { app: { image: 'x', [key]: value } } }, true)).toEqual([
    `Service "app" wants ${key}, which builds cannot have.`,
  ])
})

test.each([
  [{ volumes: { root: { driver: 'local', driver_opts: { type: 'none', o: 'bind', device: '/' } } } }, 'driver_opts.device'],
  [{ volumes: { nfs: { driver_opts: { type: 'nfs', o: 'addr=10.0.0.1', device: ':/x' } } } }, 'driver_opts.type'],
  [{ volumes: { other: { driver: 'a-plugin' } } }, 'driver: a-plugin'],
  [{ volumes: { other: { external: true, name: 'windlass-another-build' } } }, 'external'],
  [{ networks: { other: { external: true, name: 'windlass-another-build' } } }, 'external'],
  [{ networks: { other: { driver: 'host' } } }, 'driver: host'],
  [{ networks: { other: { driver: 'macvlan', driver_opts: { parent: 'eth0' } } } }, 'driver_opts.parent'],
  [
    { networks: { other: { driver_opts: { 'com.docker.network.bridge.name': 'docker0' } } } },
    'driver_opts.com.docker.network.bridge.name',
  ],
])('rejects volumes and networks of others without access to the daemon: %j (P183)', (document, option) => {
  expect(problems(document)).toContainEqual(expect.stringContaining(`wants ${option}, which this runtime does not allow.`))
  expect(problems(document, true)).toEqual([])
})

test('allows own volumes and networks and the shared volume without access to the daemon (P183)', () => {
  expect(
    problems({
      services: {},
      volumes: {
        data: null,
        named: { name: 'x', driver: 'local', labels: { a: 'b' } },
        shared: { external: true, name: 'shared' },
      },
      networks: {
        back: null,
        open: { driver: 'bridge', internal: true, driver_opts: { 'com.docker.network.driver.mtu': '1400' } },
      },
    }),
  ).toEqual([])
})
