list(APPEND BRAID_MODEL_SOURCES
  bus_id.cpp
  capacities.cpp
  link_graph.cpp
  path_type.cpp
  routes.cpp
  stock/channel_search.cpp
  stock/choice.cpp
  stock/cost_model.cpp
  stock/graph_file.cpp
  stock/graph_search.cpp
  stock/plan.cpp
  stock/selection.cpp
  stock/settings.cpp
  topology.cpp
  topology_xml.cpp
  xml_text.cpp
)
