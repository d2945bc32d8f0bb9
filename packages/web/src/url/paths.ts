/** Addresses of the page. Everything after `/-/` is a part of the page, because names may contain slashes. */
import { writeBuildFilter, type BuildFilter } from './build-filter.ts'

export const BUILD_TABS = [
  'overview',
  'timeline',
  'graph',
  'variables',
  'usage',
  'events',
  'document',
  'compare',
  'debug',
] as const
export type BuildTab = (typeof BUILD_TABS)[number]

const encode = encodeURIComponent
/** Encodes a name that may contain slashes, which stay readable. */
const encodeName = (name: string): string => name.split('/').map(encode).join('/')

export const paths = {
  /** The list of builds with the default view of the user. */
  home: (): string => '/',
  builds: (filter: BuildFilter = {}): string => `/builds${writeBuildFilter(filter)}`,
  build: (id: string, tab: BuildTab = 'overview'): string => `/builds/${id}${tab === 'overview' ? '' : `/${tab}`}`,
  buildNumber: (number: number): string => `/b/${number}`,
  /** A step with its log. `lines` are marked; numbers as they are shown, from 1. */
  step: (
    id: string,
    step: string,
    options: { readonly attempt?: number; readonly lines?: readonly [number, number] } = {},
  ): string => {
    const { attempt, lines } = options
    const mark = lines === undefined ? '' : `#L${lines[0]}${lines[1] === lines[0] ? '' : `-${lines[1]}`}`
    return `/builds/${id}/steps/${encode(step)}${attempt === undefined ? '' : `?attempt=${attempt}`}${mark}`
  },
  terminal: (id: string, terminal: string): string => `/builds/${id}/terminals/${terminal}`,
  compare: (id: string, other: string): string => `/builds/${id}/compare?with=${other}`,
  pipelines: (): string => '/pipelines',
  pipeline: (name: string, part?: 'edit' | 'trends' | 'triggers' | 'history' | 'settings' | 'run'): string =>
    `/pipelines/${encodeName(name)}${part === undefined ? '' : `/-/${part}`}`,
  project: (name: string): string => `/projects/${encodeName(name)}`,
  approvals: (): string => '/approvals',
  deliveries: (id?: string): string => (id === undefined ? '/deliveries' : `/deliveries/${id}`),
  runtimes: (): string => '/runtimes',
  runtime: (name: string): string => `/runtimes/${encodeName(name)}`,
  agent: (name: string): string => `/agents/${encodeName(name)}`,
  contexts: (): string => '/contexts',
  context: (name: string): string => `/contexts/${encodeName(name)}`,
  access: (part: 'people' | 'keys' | 'roles' | 'audit' = 'people'): string => `/access/${part}`,
  system: (): string => '/system',
  signIn: (next?: string): string => `/signin${next === undefined ? '' : `?next=${encode(next)}`}`,
}

/** Reads the name and the part of `/pipelines/{name}/-/{part}` from what follows `/pipelines/`, decoded. */
export function readPipeline(rest: string): { readonly name: string; readonly part: string | undefined } {
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
