/**
 * The groups of tests, in one table: their files, the parts that they need, and how they may run beside others. `vitest.config.ts` takes its
 * projects from it, `scripts/test` prepares what a group asks for, and `needs.test.ts` holds it against what the test files use.
 */

/** An image of `images/names.json`. */
type Image =
  | 'shell'
  | 'pause'
  | 'debian'
  | 'node'
  | 'tools'
  | 'dind'
  | 'dind-rootless'
  | 'buildkit'
  | 'cosign'
  | 'deploy'
  | 'argocd'
  | 'gitlab-helper'
  | 'windlass'

/** Something that a test needs on this machine; `parts.ts` defines how each is prepared. */
export type Part =
  | 'openssl'
  | 'python'
  | 'system'
  | 'git'
  | 'registry'
  | 'skopeo'
  | 'browser'
  | 'node20'
  | 'codefresh-cli'
  | 'programs'
  | 'web'
  | 'postgres'
  | 'moto'
  | 'docker'
  | 'kubernetes'
  | 'helm'
  | 'gitea'
  | 'go-sdk'
  | 'argocd'
  | 'traefik'
  | 'cluster'
  | `image:${Image}`

export interface Group {
  readonly name: string
  /** Test files; none for a group that is one command. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly parts: readonly Part[]
  /** Number of test files that run in parallel, each in a separate process. It can be higher for files that mostly wait. */
  readonly workers?: number
  /**
   * True if the files that a worker runs share one process and its loaded modules, which saves half a second of processor time per file. A test that
   * changes its process (environment, working directory, timers) has to change it back. False by default.
   */
  readonly sharesProcess?: boolean
  /** Modules that run once before and after the files of the group (`globalSetup` of vitest). */
  readonly setup?: readonly string[]
  /** Groups that must end before this one starts, because it breaks what they use, or both need all resources. */
  readonly after?: readonly string[]
  /** True if it starts when all other groups of the run have ended. False by default. */
  readonly isLast?: boolean
  /** Group that must have begun before this one starts. */
  readonly beside?: string
  /** True if its tests wait more than they compute: it runs in a lane for such groups. False by default. */
  readonly mostlyWaits?: boolean
  /** Nice value of its processes: below zero for tests whose heartbeats come each second. It stays zero where the user may not lower it. */
  readonly nice?: number
  /** True if its processes see no network interface but loopback. They reach Docker by its socket. Needs root. False by default. */
  readonly isOnLoopback?: boolean
  /** True if it runs only where it is asked for: by its name, or with `--long`. False by default. */
  readonly isLong?: boolean
  /** Time limit of one test; milliseconds. The default is ten minutes: it ends a test that hangs, whatever the load of the machine. */
  readonly timeoutMs?: number
  /** True if it looks for races: a single failure counts, because a second try that passes proves nothing. False by default. */
  readonly isJudgedOnce?: boolean
}

const IMAGES: readonly Part[] = ['image:shell', 'image:debian', 'image:node', 'image:tools']
const CLUSTER: readonly Part[] = [...IMAGES, 'image:dind', 'image:windlass', 'cluster', 'git', 'openssl', 'programs', 'registry']
/** Random faults for minutes, loops over every call that can fail, and tests that freeze, fill or take away the node of the cluster. */
const DRILLS: readonly string[] = [
  'e2e/chaos/{kills-of-replicas,network,nth-docker-call,nth-statement,outages,power-cut,retention,upgrade}.test.ts',
  'e2e/cluster/kills.test.ts',
  'e2e/gitlab/chaos/chaos.test.ts',
  'e2e/runner/drills/{agent,cluster,disk-full,node-disk-cleaner}.test.ts',
]
/** Tests of disks, cleaners and agents, which share nothing with those of installers and charts. */
const DISKS: readonly string[] = ['e2e/runner/{agent,cleaners,drills,monitor,volumes,warm}/**/*.test.ts']
/** The command as its users install it: quick, beside the tests of a whole release. */
const NODE_20: readonly string[] = ['e2e/release/node-20.test.ts']
/** Tests on Argo CD. It takes the longest to compile, so no other group waits for it. */
const ARGOCD: readonly string[] = ['e2e/runner/gitops/argocd*.test.ts']
/** Tests that need an image that is compiled first. */
const BUILDS: readonly string[] = ['packages/engine/test/images/build*.test.ts']

/**
 * In the order in which they begin, as far as their parts are there: the quick ones that find most, then the long ones, so that none of those is
 * left for the end. On a bare machine the ones on the cluster wait for the compiler, and the others go first.
 */
export const GROUPS: readonly Group[] = [
  { name: 'check', parts: [] },
  {
    name: 'unit',
    include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'],
    parts: ['git', 'openssl', 'python'],
    workers: 2,
    sharesProcess: true,
  },
  {
    name: 'runner',
    include: ['e2e/runner/**/*.test.ts'],
    exclude: [...DRILLS, ...ARGOCD, ...DISKS],
    parts: [...CLUSTER, 'helm', 'moto', 'postgres', 'python', 'system', 'traefik'],
    sharesProcess: true,
    mostlyWaits: true,
  },
  {
    name: 'chaos',
    include: ['e2e/chaos/**/*.test.ts'],
    exclude: DRILLS,
    parts: ['docker', 'image:shell', 'image:tools', 'postgres', 'git', 'moto', 'programs', 'system'],
    // On a bare machine it would only delay the compiler.
    beside: 'runner',
    sharesProcess: true,
    mostlyWaits: true,
    // On a machine that is busy with other groups every process would be late, and a late process explains every loss.
    nice: -10,
    // A drill continues until its faults have hit, which takes minutes on a busy machine.
    timeoutMs: 1_800_000,
    isJudgedOnce: true,
  },
  {
    name: 'disks',
    include: DISKS,
    exclude: DRILLS,
    parts: [...CLUSTER, 'helm', 'moto', 'postgres', 'python', 'system'],
    sharesProcess: true,
    mostlyWaits: true,
  },
  {
    name: 'docker',
    include: [
      'packages/engine/test/**/*.test.ts',
      'e2e/examples/**/*.test.ts',
      'e2e/conformance/local.test.ts',
      'e2e/rootless/**/*.test.ts',
    ],
    exclude: BUILDS,
    parts: ['docker', ...IMAGES, 'image:pause', 'image:dind-rootless', 'git', 'openssl', 'programs', 'python', 'registry'],
    workers: 2,
    sharesProcess: true,
  },
  {
    name: 'cluster',
    include: ['e2e/cluster/**/*.test.ts', 'e2e/conformance/cluster.test.ts', 'packages/{kube,reporter}/test/**/*.test.ts'],
    exclude: DRILLS,
    parts: [...CLUSTER, 'image:deploy'],
    sharesProcess: true,
    // Pods wait for pods most of the time. Beside `chaos` there is no room for more.
    mostlyWaits: true,
    after: ['chaos'],
  },
  {
    name: 'gitlab',
    include: ['e2e/gitlab/**/*.test.ts'],
    exclude: DRILLS,
    parts: [...CLUSTER, 'image:gitlab-helper', 'gitea', 'helm', 'moto', 'postgres', 'python'],
    sharesProcess: true,
    mostlyWaits: true,
  },
  {
    name: 'argocd',
    include: ARGOCD,
    parts: [
      ...IMAGES,
      'cluster',
      'docker',
      'gitea',
      'git',
      'helm',
      'image:argocd',
      'image:pause',
      'image:windlass',
      'openssl',
      'postgres',
      'programs',
      'registry',
      'system',
    ],
    setup: ['e2e/runner/gitops/shared-argocd.ts'],
    // It has the definition of applications, of which reporters there have another one.
    after: ['cluster'],
    sharesProcess: true,
    mostlyWaits: true,
  },
  {
    name: 'drills',
    include: DRILLS,
    parts: [...CLUSTER, 'docker', 'helm', 'image:gitlab-helper', 'moto', 'postgres', 'system'],
    isLast: true,
    // As `chaos`.
    nice: -10,
    mostlyWaits: true,
    // It has the machine for itself, so a run of all groups would end with a quarter of an hour in which nothing else runs.
    isLong: true,
    // A drill continues until its faults have hit.
    timeoutMs: 3_600_000,
    isJudgedOnce: true,
  },
  {
    name: 'http',
    include: [
      'packages/server/test/http/**/*.test.ts',
      'packages/{agent,app-proxy,cli,cloud,local,router,tunnel,volumes,work}/test/**/*.test.ts',
      ...NODE_20,
    ],
    parts: [
      'docker',
      'image:shell',
      'image:tools',
      'image:gitlab-helper',
      'image:windlass',
      'git',
      'node20',
      'openssl',
      'postgres',
      'programs',
      'python',
      'registry',
      'moto',
      'system',
    ],
    workers: 2,
    sharesProcess: true,
    // Docker 20.10 can deadlock where many networks and containers end at once, as in both.
    after: ['docker'],
  },
  {
    name: 'codefresh',
    include: ['e2e/codefresh-cli/**/*.test.ts'],
    parts: ['codefresh-cli', 'docker', 'image:shell', 'image:tools', 'programs'],
    workers: 2,
    sharesProcess: true,
  },
  {
    name: 'builds',
    include: BUILDS,
    parts: ['docker', ...IMAGES, 'image:buildkit', 'image:cosign', 'git', 'python', 'registry'],
    sharesProcess: true,
  },
  {
    name: 'store',
    include: ['packages/server/test/store/**/*.test.ts'],
    parts: ['postgres', 'moto', 'programs'],
    setup: ['packages/server/test/support/shared-postgres.ts'],
    workers: 2,
    sharesProcess: true,
  },
  {
    name: 'parts',
    include: ['e2e/support/**/*.test.ts'],
    parts: ['docker', 'system', 'git', 'registry', 'postgres'],
  },
  {
    name: 'forge',
    include: ['e2e/forge/**/*.test.ts'],
    parts: ['docker', 'openssl', 'image:shell', 'image:tools', 'git', 'gitea', 'go-sdk', 'postgres', 'programs', 'codefresh-cli'],
    // Each file has its own forge, and waits for it most of the time.
    workers: 2,
    mostlyWaits: true,
  },
  {
    name: 'web',
    include: ['e2e/web/**/*.test.ts'],
    parts: ['browser', 'web', 'docker', 'image:shell', 'image:tools', 'programs', 'system'],
    workers: 2,
    sharesProcess: true,
    // Chromium aborts its calls when an interface of the machine comes or goes (ERR_NETWORK_CHANGED), as one does for each container.
    isOnLoopback: true,
  },
  {
    name: 'release',
    include: ['e2e/release/**/*.test.ts'],
    exclude: NODE_20,
    parts: ['docker', 'image:tools', 'image:dind', 'image:windlass', 'git', 'helm', 'node20', 'openssl', 'registry', 'skopeo'],
    // It builds the files of two releases.
    isLong: true,
  },
  { name: 'demo', parts: ['docker', ...IMAGES, 'git', 'registry'] },
]

export const JUDGED_ONCE: ReadonlySet<string> = new Set(
  GROUPS.filter((group) => group.isJudgedOnce === true).map(({ name }) => name),
)
