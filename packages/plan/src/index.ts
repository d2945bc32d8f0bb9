export * from './lists.ts'
export * from './plan.ts'
export * from './snapshot.ts'
