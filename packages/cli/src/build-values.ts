/** Values of options of builds. Help and completion read them without the schemas of the protocol, which take long to load. */
import { REASON_NAMES } from '@windlass/plan'

export const REASON_CHOICES = REASON_NAMES

/** Fields by which `get builds --count-by` counts, as `COUNTED_BY` of the protocol. */
export const COUNTED_BY_NAMES = ['status', 'project', 'pipeline', 'branch', 'initiator', 'runtime', 'trigger', 'reason'] as const
