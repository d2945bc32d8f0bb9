/** What the process of an agent can do, as it announced it. */
import { z } from 'zod'
import type { AgentRow } from '../store/schema/schema.ts'

const Features = z.array(z.string())

/** Whether the process of an agent announced a feature in its hello. */
export function hasFeature({ features }: Pick<AgentRow, 'features'>, feature: string): boolean {
  return features !== null && Features.parse(JSON.parse(features)).includes(feature)
}
