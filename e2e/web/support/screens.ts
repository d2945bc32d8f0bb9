/** The screens of the page, for tests that visit all of them. A new screen is one more line. */
export interface Scene {
  /** A build that failed. */
  readonly build: string
}

export interface Screen {
  readonly name: string
  readonly path: (scene: Scene) => string
  /** The call without whose answer the screen has nothing to show. */
  readonly call: RegExp
  /** Something of a screen that has its answer. */
  readonly shows: string
  /** What the screen says on a server that has nothing for it. Absent for screens of one thing, which says that it does not exist. */
  readonly empty?: string
  /** A command line that the screen shows. Absent if its commands are in the menu of its actions. */
  readonly command?: string
}

export const SCREENS: readonly Screen[] = [
  {
    name: 'builds',
    path: () => '/builds',
    call: /\/v1\/builds\?/,
    shows: 'demo/app',
    empty: 'No builds yet. Three commands lead to the first one.',
    command: 'windlass get builds',
  },
  {
    name: 'filtered builds',
    path: () => '/builds?branch=main',
    call: /\/v1\/builds\?/,
    shows: 'demo/app',
    empty: 'No builds match.',
    command: 'windlass get builds --branch main',
  },
  {
    name: 'GitLab jobs',
    path: () => '/gitlab-jobs',
    call: /\/v1\/gitlab-jobs\?/,
    shows: 'No manager of GitLab runners has reported a job yet.',
    empty: 'No manager of GitLab runners has reported a job yet.',
    command: 'windlass get gitlab-jobs',
  },
  {
    name: 'applications',
    path: () => '/delivery/apps',
    call: /\/v1\/applications\?/,
    shows: 'There are no GitOps runtimes.',
    empty: 'There are no GitOps runtimes.',
    command: 'windlass get applications',
  },
  {
    name: 'products',
    path: () => '/delivery/products',
    call: /\/v1\/products$/,
    shows: 'There are no products.',
    empty: 'There are no products.',
    command: 'windlass get products',
  },
  { name: 'build', path: ({ build }) => `/builds/${build}`, call: /\/v1\/builds\/[0-9a-f]{24}$/, shows: 'unit_tests' },
  {
    name: 'step',
    path: ({ build }) => `/builds/${build}/steps/lint`,
    call: /\/v1\/builds\/[0-9a-f]{24}$/,
    shows: 'unit_tests',
  },
  { name: 'graph', path: ({ build }) => `/builds/${build}/graph`, call: /\/v1\/builds\/[0-9a-f]{24}\/plan$/, shows: 'publish' },
  {
    name: 'variables',
    path: ({ build }) => `/builds/${build}/variables`,
    call: /\/v1\/builds\/[0-9a-f]{24}\/plan$/,
    shows: 'CF_BUILD_ID',
  },
  {
    name: 'events',
    path: ({ build }) => `/builds/${build}/events`,
    call: /\/v1\/builds\/[0-9a-f]{24}\/feed/,
    shows: 'step.finished',
  },
  {
    name: 'document',
    path: ({ build }) => `/builds/${build}/document`,
    call: /\/v1\/builds\/[0-9a-f]{24}\/plan$/,
    shows: 'npm publish',
  },
  {
    name: 'pipelines',
    path: () => '/pipelines',
    call: /\/v1\/pipelines(\?|$)/,
    shows: 'demo/app',
    empty: 'There are no pipelines that you may see.',
    command: 'windlass get pipelines',
  },
  {
    name: 'pipeline',
    path: () => '/pipelines/demo/app',
    call: /\/v1\/pipelines\/demo%2Fapp$/,
    shows: 'Last builds',
    command: 'windlass get pipelines demo/app -o yaml',
  },
  {
    name: 'triggers of a pipeline',
    path: () => '/pipelines/demo/app/-/triggers',
    call: /\/v1\/triggers\?/,
    shows: 'The pipeline has no triggers yet.',
    command: 'windlass get triggers --pipeline demo/app',
  },
  {
    name: 'run form',
    path: () => '/pipelines/demo/app/-/run?branch=main',
    call: /\/v1\/pipelines\/demo%2Fapp$/,
    shows: 'Run the pipeline',
    command: 'windlass run demo/app --branch main',
  },
  {
    name: 'approvals',
    path: () => '/approvals',
    call: /\/v1\/approvals/,
    shows: 'No build waits for an approval.',
    empty: 'No build waits for an approval.',
    command: 'windlass get builds --status pending-approval',
  },
]
