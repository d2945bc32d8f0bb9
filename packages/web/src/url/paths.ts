/** Addresses of the page. Everything after `/-/` is a part of the page, because names may contain slashes. */
import { writeBuildFilter, type BuildFilter } from './build-filter.ts'

export const BUILD_TABS = ['overview', 'graph', 'variables', 'usage', 'events', 'document', 'compare', 'debug'] as const
export type BuildTab = (typeof BUILD_TABS)[number]

/** In the place of a step: the log of the build itself. */
export const SYSTEM = '.system'

/** What may follow `/-/` in the address of a pipeline. */
export type PipelinePart = 'edit' | 'trends' | 'triggers' | 'history' | 'settings' | 'run'

/** Parts of a runtime, as they follow `/-/`. */
export type RuntimePart = 'pods' | 'disks' | 'spec' | 'history'

/** Parts of an application of a GitOps runtime. */
export const APPLICATION_PARTS = ['diff', 'history'] as const
export type ApplicationPart = (typeof APPLICATION_PARTS)[number]

/** What names an application of a GitOps runtime. */
export interface ApplicationPlace {
  readonly runtime: string
  readonly namespace: string
  readonly name: string
}

const encode = encodeURIComponent
/** Encodes a name that may contain slashes, which stay readable. */
const encodeName = (name: string): string => name.split('/').map(encode).join('/')

export const paths = {
  /** The list of builds with the default view of the user. */
  home: (): string => '/',
  builds: (filter: BuildFilter = {}): string => `/builds${writeBuildFilter(filter)}`,
  build: (id: string, tab: BuildTab = 'overview'): string => `/builds/${id}${tab === 'overview' ? '' : `/${tab}`}`,
  /** A step with its log. `lines` are marked; numbers as they are shown, from 1. */
  step: (
    id: string,
    step: string,
    options: { readonly attempt?: number; readonly lines?: readonly [number, number]; readonly onlyNew?: boolean } = {},
  ): string => {
    const { attempt, lines, onlyNew = false } = options
    const mark = lines === undefined ? '' : `#L${lines[0]}${lines[1] === lines[0] ? '' : `-${lines[1]}`}`
    const query = [attempt === undefined ? '' : `attempt=${attempt}`, onlyNew ? 'only=new' : ''].filter((part) => part !== '')
    return `/builds/${id}/steps/${encode(step)}${query.length === 0 ? '' : `?${query.join('&')}`}${mark}`
  },
  /** The debugger of a build: with a terminal, or with a step in which one opens as soon as it is held. */
  debug: (id: string, shown: { readonly terminal?: string; readonly stop?: string } = {}): string => {
    const query = new URLSearchParams(Object.entries(shown)).toString()
    return `/builds/${id}/debug${query === '' ? '' : `?${query}`}`
  },
  /** A terminal alone. This is another document, so it is no link of the page. */
  terminal: (id: string, terminal: string): string => `/builds/${id}/terminals/${terminal}`,
  compare: (id: string, other: string): string => `/builds/${id}/compare?with=${other}`,
  pipelines: (): string => '/pipelines',
  newPipeline: (): string => '/pipelines/-/new',
  pipeline: (name: string, part?: PipelinePart): string =>
    `/pipelines/${encodeName(name)}${part === undefined ? '' : `/-/${part}`}`,
  approvals: (): string => '/approvals',
  deliveries: (id?: string): string => (id === undefined ? '/deliveries' : `/deliveries/${id}`),
  gitlabJobs: (): string => '/gitlab-jobs',
  applications: (): string => '/delivery/apps',
  application: ({ runtime, namespace, name }: ApplicationPlace, part?: ApplicationPart): string =>
    ['/delivery/apps', ...[runtime, namespace, name, part ?? []].flat().map(encode)].join('/'),
  runtimes: (): string => '/runtimes',
  runtime: (name: string, part?: RuntimePart): string => `/runtimes/${encodeName(name)}${part === undefined ? '' : `/-/${part}`}`,
  agent: (name: string): string => `/agents/${encodeName(name)}`,
  contexts: (): string => '/contexts',
  context: (name: string): string => `/contexts/${encodeName(name)}`,
  access: (part: 'people' | 'keys' | 'roles' | 'audit' = 'people'): string => `/access/${part}`,
  system: (): string => '/system',
  products: (): string => '/delivery/products',
  product: (name: string): string => `/delivery/products/${encode(name)}`,
  signIn: (next?: string): string => `/signin${next === undefined ? '' : `?next=${encode(next)}`}`,
}

/** Reads the name and the part of `/pipelines/{name}/-/{part}` from what follows `/pipelines/`, decoded. Other nouns have the same form. */
export function readNamed(rest: string): { readonly name: string; readonly part: string | undefined } {
  const at = rest.indexOf('/-/')
  return at === -1 ? { name: rest, part: undefined } : { name: rest.slice(0, at), part: rest.slice(at + 3) }
}

/** Returns the address to go to after the sign-in: a path of this page, never another site. */
export function readNext(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? ''
  return /^\/(?![/\\])/.test(next) && !next.startsWith('/signin') ? next : paths.home()
}

/** Reads the marked lines of `#L120-140`. Numbers as they are shown, from 1. */
export function readLines(hash: string): readonly [number, number] | undefined {
  const match = /^#L(\d{1,12})(?:-L?(\d{1,12}))?$/.exec(hash)
  if (match === null) return undefined
  const first = Number(match[1])
  const last = Number(match[2] ?? match[1])
  return first <= last ? [first, last] : [last, first]
}
