/** The places of the rail. A room is added here once its screens exist in `app.tsx`. */
import { Hammer, type LucideIcon } from 'lucide-react'
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
}

export const ROOMS: readonly Room[] = [
  { name: 'Builds', group: 'Work', icon: Hammer, path: paths.builds(), key: 'b', also: ['/b/'] },
]

/** Returns true if an address is in a room. */
export function isIn(room: Room, path: string): boolean {
  return [room.path, ...(room.also ?? [])].some(
    (start) => path === start || path.startsWith(start.endsWith('/') ? start : `${start}/`),
  )
}
