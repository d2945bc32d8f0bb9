/** The places of the rail. A room is added here once its screens exist in `app.tsx`. */
import type { Right } from '@windlass/protocol'
import {
  Boxes,
  Gauge,
  Hammer,
  Inbox,
  KeyRound,
  Server,
  ShieldCheck,
  SquareTerminal,
  Users,
  Workflow,
  type LucideIcon,
} from 'lucide-react'
import { createStore, useStore } from '../server/store.ts'
import { paths } from '../url/paths.ts'

export interface Room {
  readonly name: string
  readonly group: 'Work' | 'Fleet'
  readonly icon: LucideIcon
  readonly path: string
  /** The key after `g`. */
  readonly key: string
  /** Starts of other addresses that belong to it. */
  readonly also?: readonly string[]
  /** Without this right the room is not in the rail. */
  readonly right?: Right
  /** The room exists only on a server that has something for it. */
  readonly isOptional?: true
}

/** The room of the jobs of GitLab runners, which is there once a manager of them has reported. */
export const GITLAB_ROOM = 'GitLab jobs'

/** The room of the applications of GitOps runtimes, which is there once a runtime exists. */
export const APPLICATIONS_ROOM = 'Applications'

export const ROOMS: readonly Room[] = [
  { name: 'Builds', group: 'Work', icon: Hammer, path: paths.builds(), key: 'b', also: ['/b/'] },
  {
    name: GITLAB_ROOM,
    group: 'Work',
    icon: SquareTerminal,
    path: paths.gitlabJobs(),
    key: 'j',
    right: 'see-gitlab-jobs',
    isOptional: true,
  },
  {
    name: APPLICATIONS_ROOM,
    group: 'Work',
    icon: Boxes,
    path: paths.applications(),
    key: 'o',
    also: ['/delivery/'],
    right: 'see-gitops',
    isOptional: true,
  },
  { name: 'Pipelines', group: 'Work', icon: Workflow, path: paths.pipelines(), key: 'p' },
  { name: 'Approvals', group: 'Work', icon: ShieldCheck, path: paths.approvals(), key: 'a' },
  { name: 'Deliveries', group: 'Work', icon: Inbox, path: paths.deliveries(), key: 'd' },
  { name: 'Runtimes', group: 'Fleet', icon: Server, path: paths.runtimes(), key: 'r', also: ['/agents/'], right: 'see-runners' },
  { name: 'Contexts', group: 'Fleet', icon: KeyRound, path: paths.contexts(), key: 'c', right: 'see-contexts' },
  { name: 'Access', group: 'Fleet', icon: Users, path: paths.access(), key: 'u', also: ['/access/'] },
  { name: 'System', group: 'Fleet', icon: Gauge, path: paths.system(), key: 's', right: 'see-account' },
]

/** Numbers beside rooms, by the name of the room. An optional room that has no number does not exist. */
export type Badges = Readonly<Record<string, number>>

export const badges = createStore<Badges>({})

/** Returns the rooms that exist on the server. */
export function useRooms(): readonly Room[] {
  const known = useStore(badges)
  return ROOMS.filter(({ name, isOptional }) => isOptional !== true || known[name] !== undefined)
}

/** Returns true if an address is in a room. */
export function isIn(room: Room, path: string): boolean {
  return [room.path, ...(room.also ?? [])].some(
    (start) => path === start || path.startsWith(start.endsWith('/') ? start : `${start}/`),
  )
}
