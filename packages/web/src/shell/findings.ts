/** What is wrong in the rooms of the rail. */
import { useQuery } from '@tanstack/react-query'
import { HEALTH_LEVELS, type HealthLevel, type HealthSummary, type ServerHealth } from '@windlass/protocol'
import { queries } from '../server/queries.ts'
import { useHidden } from './use-off.ts'

export interface RoomFinding {
  readonly level: HealthLevel
  readonly sentence: string
}

/** Returns the worst finding of each room that has one, by the name of the room. */
export function useFindings(): Readonly<Record<string, RoomFinding>> {
  const may = useHidden('see-runners') === undefined
  const { data } = useQuery({ ...queries.health(), enabled: may })
  return data === undefined ? {} : findingsOf(data)
}

/** Sorts by level, the worst first. */
export function worstFirst(one: { readonly level: HealthLevel }, other: { readonly level: HealthLevel }): number {
  return HEALTH_LEVELS.indexOf(other.level) - HEALTH_LEVELS.indexOf(one.level)
}

function findingsOf({ findings, runtimes }: ServerHealth): Readonly<Record<string, RoomFinding>> {
  const [own] = findings
  const [worst, ...more] = runtimes.filter(({ level }) => level !== 'ok').toSorted(worstFirst)
  return {
    ...(own !== undefined && { System: { level: own.level, sentence: own.message } }),
    ...(worst !== undefined && { Runtimes: { level: worst.level, sentence: sentenceOf(worst, more.length) } }),
  }
}

function sentenceOf({ name, sentence }: HealthSummary & { readonly name: string }, more: number): string {
  const others = more === 0 ? '' : ` ${more} more ${more === 1 ? 'runtime has' : 'runtimes have'} a finding.`
  return `${name}: ${sentence}${others}`
}
