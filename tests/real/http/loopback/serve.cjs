// A LoopBack 4 app with the controller that it makes of a model. Arguments: folder, number. Found by NODE_PATH.
const { DefaultCrudRepository, Entity, ModelDefinition, RepositoryMixin, defineModelClass, juggler } =
  require('@loopback/repository')
const { RestApplication } = require('@loopback/rest')
const { defineCrudRestController } = require('@loopback/rest-crud')

const definition = new ModelDefinition('Thing')
  .addProperty('id', { type: 'number', id: true })
  .addProperty('name', { type: 'string' })
const Thing = defineModelClass(Entity, definition)
const repository = new DefaultCrudRepository(Thing, new juggler.DataSource({ name: 'db', connector: 'memory' }))

class Things extends defineCrudRestController(Thing, { basePath: '/things' }) {
  constructor() {
    super(repository)
  }
}

async function main() {
  const app = new (RepositoryMixin(RestApplication))({ rest: { host: '127.0.0.1', port: 0 } })
  app.controller(Things)
  const number = Number(process.argv[3])
  await repository.createAll(Array.from({ length: number }, (_, index) => ({ id: index + 1, name: `thing ${index + 1}` })))
  await app.start()
  console.log(`ready ${new URL(app.restServer.url).port}`)
}

process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
main().catch(error => {
  console.error(error)
  process.exit(1)
})
