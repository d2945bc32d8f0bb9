/** Paths in containers of steps. */
import { VOLUME_PATH } from '@windlass/plan'

/** Mount path of the build's own volume in steps, read-only. Its parent is a folder of the container. */
export const BIN_PATH = '/windlass/bin'

/** Exported variables of one step. A file in the container, so that parallel steps do not conflict. */
export const EXPORT_PATH = '/windlass/env_vars_to_export'

/** The path that pipelines use: a link that resolves to the file of the current container. */
export const EXPORT_LINK = `${VOLUME_PATH}/env_vars_to_export`
