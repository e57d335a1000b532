// simple-odata-server over one collection in memory. Arguments: folder, number. Found by NODE_PATH.
const http = require('http')
const Datastore = require('nedb')
const ODataServer = require('simple-odata-server')
const adapter = require('simple-odata-server-nedb')

const number = Number(process.argv[3])
const things = Array.from({ length: number }, (_, index) => ({
  _id: String(index + 1).padStart(8, '0'), id: index + 1, name: `thing ${index + 1}`, kind: index % 2 ? 'even' : 'odd',
}))
const properties = {
  _id: { type: 'Edm.String', key: true }, id: { type: 'Edm.Int32' }, name: { type: 'Edm.String' },
  kind: { type: 'Edm.String' },
}
const model = {
  namespace: 'shop',
  entityTypes: { Thing: properties },
  entitySets: { things: { entityType: 'shop.Thing' } },
}
const store = new Datastore({ inMemoryOnly: true })
store.insert(things, () => {
  const server = ODataServer('http://127.0.0.1').model(model).adapter(adapter((_, done) => done(null, store)))
  const listener = http.createServer((request, response) => server.handle(request, response))
  listener.listen(0, '127.0.0.1', () => console.log(`ready ${listener.address().port}`))
})
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
