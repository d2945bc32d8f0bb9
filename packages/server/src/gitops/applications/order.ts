/**
 * Which of two reports about an application is later. Resource versions of one resource type grow through the whole cluster
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions), so they order states better than clocks.
 */
import { REPORTER_SILENT_MS } from '@windlass/protocol'

/** What is stored of an application. */
export interface Known {
  /** Empty if the report had none. */
  readonly uid: string
  readonly version: string
  /** Time of the report, and of the creation of the application. Epoch milliseconds of the cluster. */
  readonly reportedAt: number
  readonly createdAt: number
  /** How the application ended: its deletion was reported, or a full state did not have it. */
  readonly end: 'deleted' | 'unlisted' | undefined
}

export interface Reported {
  readonly uid: string | undefined
  readonly version: string | undefined
  readonly at: number
  readonly createdAt: number | undefined
}

/** Returns true if the report repeats what is stored, or comes after a later one. */
export function isLate(known: Known, reported: Reported): boolean {
  const isSame = known.uid === '' || reported.uid === undefined || reported.uid === known.uid
  const isAfterSilence = reported.at - known.reportedAt > REPORTER_SILENT_MS
  // An object never comes back after its deletion. One that a full state did not have may have been created after the list was made.
  if (known.end === 'deleted' && known.uid !== '' && reported.uid === known.uid) return true
  if (!isSame) {
    // The end of an object that had this name before, told without its times.
    if (reported.createdAt === undefined) return true
    // The runtime has another cluster now, whose objects may be older.
    if (isAfterSilence) return false
    if (reported.createdAt !== known.createdAt) return reported.createdAt < known.createdAt
  }
  // Versions of another cluster, or of one that was restored from a backup, can be lower.
  if (isAfterSilence) return false
  const order = compareVersions(reported.version, known.version)
  return order === 0 ? reported.at <= known.reportedAt : order < 0
}

const NUMBER = /^[1-9]\d*$/

/** Versions that are not numbers are not comparable and count as equal. */
function compareVersions(one: string | undefined, other: string): number {
  if (one === undefined || !NUMBER.test(one) || !NUMBER.test(other)) return 0
  const [first, second] = [BigInt(one), BigInt(other)]
  return first === second ? 0 : first < second ? -1 : 1
}
