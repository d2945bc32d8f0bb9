export const OUTPUT_FORMATS = ['json', 'yaml', 'wide', 'name'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]
